/** Providers by the host of their URL. Those whose models have prices of their own have the names of `model-hosts.ts`. */
import type { CalledAt } from './model-hosts.ts';

interface KnownHost {
  /** The host itself, or the end of it after a dot. */
  readonly host: string;
  readonly provider: string;
  /** Finds the region in the rest of the host, if it has one. */
  readonly region?: RegExp;
}

const knownHosts: readonly KnownHost[] = [
  { host: 'api.openai.com', provider: 'openai', region: /^([a-z]{2})$/ },
  { host: 'api.anthropic.com', provider: 'anthropic' },
  { host: 'openai.azure.com', provider: 'azure_openai' },
  { host: 'services.ai.azure.com', provider: 'azure_openai' },
  { host: 'cognitiveservices.azure.com', provider: 'azure_openai' },
  { host: 'amazonaws.com', provider: 'aws', region: /^bedrock-[a-z-]+\.([a-z0-9-]+)$/ },
  // A private endpoint in a network of the user.
  { host: 'vpce.amazonaws.com', provider: 'aws', region: /^[a-z0-9-]+\.bedrock-[a-z-]+\.([a-z0-9-]+)$/ },
  { host: 'api.aws', provider: 'aws', region: /^bedrock-[a-z-]+\.([a-z0-9-]+)$/ },
  { host: 'generativelanguage.googleapis.com', provider: 'google' },
  { host: 'aiplatform.googleapis.com', provider: 'vertex_ai' },
  { host: 'rep.googleapis.com', provider: 'vertex_ai', region: /^aiplatform\.([a-z0-9-]+)$/ },
  { host: 'googleapis.com', provider: 'vertex_ai', region: /^([a-z0-9-]+)-aiplatform$/ },
  { host: 'api.mistral.ai', provider: 'mistral' },
  { host: 'codestral.mistral.ai', provider: 'mistral' },
  { host: 'api.deepseek.com', provider: 'deepseek' },
  { host: 'api.cohere.ai', provider: 'cohere' },
  { host: 'api.cohere.com', provider: 'cohere' },
  { host: 'api.x.ai', provider: 'xai' },
  { host: 'api.z.ai', provider: 'zai' },
  { host: 'api.moonshot.ai', provider: 'moonshot' },
  { host: 'api.groq.com', provider: 'groq' },
  { host: 'api.cerebras.ai', provider: 'cerebras' },
  { host: 'api.together.ai', provider: 'together_ai' },
  { host: 'api.together.xyz', provider: 'together_ai' },
  { host: 'api.fireworks.ai', provider: 'fireworks_ai' },
  { host: 'api.perplexity.ai', provider: 'perplexity' },
  { host: 'api.deepinfra.com', provider: 'deepinfra' },
  { host: 'api.replicate.com', provider: 'replicate' },
  { host: 'openrouter.ai', provider: 'openrouter' },
  { host: 'models.github.ai', provider: 'github' },
];

/** Returns the provider and the region of a URL; undefined if its host is not known. */
export function knownHostOf(url: string): CalledAt | undefined {
  // A dot at the end of a host makes it absolute, and is no part of its name.
  const hostname = new URL(url).hostname.replace(/\.$/, '');
  for (const { host, provider, region: pattern } of knownHosts) {
    if (hostname === host || hostname.endsWith(`.${host}`)) {
      const region = pattern?.exec(hostname.slice(0, -host.length - 1))?.[1] ?? null;
      // A cloud has other services below the same host.
      if (region !== null || pattern === undefined || hostname === host) {
        return { provider, region };
      }
    }
  }
  return undefined;
}
