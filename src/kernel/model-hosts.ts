/**
 * Hosts of models: clouds and services that serve models of others, or their own, at prices of their own. The price of a model at a
 * host has the name of the model with the prefix of the host, and with the region if that has a price of its own:
 * `azure/eu/gpt-4o`. A vendor whose models have no prefix is not a host.
 */

/** Where a model is called, as runs and decisions state it. */
export interface CalledAt {
  readonly provider?: string | null;
  readonly region?: string | null;
}

interface Host {
  /** First segments of the names of models at this host. The first one is the id of the host. */
  readonly prefixes: readonly [string, ...string[]];
  /** Other values of `provider` in a run that mean this host, in lower case. */
  readonly providers?: readonly string[];
}

const hosts: readonly Host[] = [
  {
    prefixes: ['azure', 'azure_ai', 'azure_text'],
    providers: [
      'azure_openai',
      'azure-openai',
      'azure openai',
      'microsoft',
      'az.ai.inference',
      'az.ai.openai',
      'azure.ai.inference',
      'azure.ai.openai',
    ],
  },
  {
    prefixes: ['bedrock', 'bedrock_converse', 'bedrock_mantle'],
    providers: ['aws', 'amazon', 'amazon-bedrock', 'amazon bedrock', 'aws_bedrock', 'aws.bedrock'],
  },
  { prefixes: ['vertex_ai', 'vertex'], providers: ['google_vertex', 'google-vertex', 'gcp.vertex_ai'] },
  { prefixes: ['cerebras'] },
  { prefixes: ['deepinfra'] },
  { prefixes: ['fireworks_ai', 'fireworks'], providers: ['fireworks-ai'] },
  { prefixes: ['groq'] },
  { prefixes: ['perplexity'] },
  { prefixes: ['replicate'] },
  { prefixes: ['together_ai', 'together'], providers: ['together-ai', 'togetherai'] },
];

const byPrefix = new Map(hosts.flatMap((host) => host.prefixes.map((prefix) => [prefix, host] as const)));
const byProvider = new Map([
  ...byPrefix,
  ...hosts.flatMap((host) => (host.providers ?? []).map((provider) => [provider, host] as const)),
]);

/** Returns the id of the host whose names begin with this segment. */
export function hostOfPrefix(segment: string): string | undefined {
  return byPrefix.get(segment)?.prefixes[0];
}

/** Returns the id of the host that the provider of a run means. */
export function hostOfProvider(provider: string): string | undefined {
  return (byProvider.get(provider) ?? byProvider.get(provider.toLowerCase()))?.prefixes[0];
}

/** Returns the first segments of the names that have prices of the host. */
export function prefixesOf(host: string): readonly string[] {
  return byPrefix.get(host)?.prefixes ?? [];
}
