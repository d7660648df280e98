/** Settings of clients that call models through the gateway, ready to paste. */

export function clientSettings(url: string, key: string): string {
  const openai = `${url}/openai/v1`;
  const anthropic = `${url}/anthropic`;
  return `
# SDKs of OpenAI, and everything that reads its variables
export OPENAI_BASE_URL=${openai}
export OPENAI_API_KEY=${key}

# SDKs of Anthropic
export ANTHROPIC_BASE_URL=${anthropic}
export ANTHROPIC_API_KEY=${key}

# Claude Code
ANTHROPIC_BASE_URL=${anthropic} ANTHROPIC_AUTH_TOKEN=${key} claude

# Codex
PURSER_KEY=${key} codex -c model_provider=purser \\
  -c 'model_providers.purser={name="Purser",base_url="${openai}",env_key="PURSER_KEY",wire_api="responses"}'

# Cursor: Settings > Models > OpenAI API Key. Its servers make the calls, so the URL must be public.
#   Override OpenAI Base URL: ${openai}
#   API key:                  ${key}
`.trim();
}
