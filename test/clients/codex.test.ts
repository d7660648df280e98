import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answer, testCodingAgent } from './coding-agent.ts';
import { codex } from './installed-clients.ts';

/** Telemetry, updates, and what it downloads for plugins. */
const quiet = `check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
`;

/** The lines that `purser gateway-key` prints. */
function ownProvider(url: string): string {
  return `model_provider = "purser"
web_search = "disabled"
${quiet}
[model_providers.purser]
name = "Purser"
base_url = "${url}/openai/v1"
env_key = "PURSER_KEY"
wire_api = "responses"
`;
}

/** Writes the configuration of a home directory. */
const configured = (config: string) => async (home: string) => {
  await mkdir(join(home, '.codex'));
  await writeFile(join(home, '.codex/config.toml'), config);
};

testCodingAgent(
  {
    name: 'Codex',
    path: await codex(),
    start: (world, options) => ({
      args: ['exec', '--skip-git-repo-check', '--model', 'gpt-test', ...options, 'Say hello'],
      env: { PURSER_KEY: world.gateway.key },
      prepare: configured(ownProvider(world.url)),
    }),
    requestPath: /^\/openai\/v1\/responses$/,
    sessionHeader: 'session-id',
    tool: {
      name: 'exec_command',
      input: JSON.stringify({ cmd: 'echo tool-ran' }),
      options: ['--dangerously-bypass-approvals-and-sandbox'],
      resultMark: 'function_call_output',
    },
    // Midnight in the time zone of the client, which is UTC.
    denial: {
      status: 429,
      shownReset: ({ stderr }) => stderr,
      reset: /hit your usage limit.* at .*\b12:00 AM/,
    },
    truncation: { statuses: [200], shown: /tok0 tok1[\s\S]*Incomplete response returned/ },
    withoutReasoning: [
      '--config',
      'model_reasoning_effort="none"',
      '--config',
      'model_reasoning_summary="none"',
    ],
  },
  ({ world, run }) => {
    test('makes no other request', async () => {
      await run();
      expect(world().requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
        'POST /openai/v1/responses',
      ]);
    });

    test('with its own provider and another URL, falls back from WebSockets at once', async () => {
      const { url, gateway } = world();
      const { stdout } = await run({
        prepare: configured(`openai_base_url = "${url}/openai/v1"\nweb_search = "disabled"\n${quiet}`),
        env: { CODEX_API_KEY: gateway.key },
      });
      expect(stdout.trim()).toBe(answer);
      const { requests } = world();
      const upgrades = requests.filter(({ headers }) => headers.upgrade === 'websocket');
      expect(upgrades.map(({ status }) => status)).toEqual([426]);
      expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    });
  },
);
