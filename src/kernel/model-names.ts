/**
 * Names of models: gateways, clouds and SDKs call the same model by different names, with a prefix for the provider or a
 * suffix for the date of its release. Pure functions.
 */

/** First segments of a name that say where the model is called, not which one it is. */
const providerSegments = new Set([
  'anthropic',
  'azure',
  'azure_ai',
  'bedrock',
  'bedrock_converse',
  'cerebras',
  'chat',
  'codestral',
  'cohere',
  'cohere_chat',
  'converse',
  'deepinfra',
  'deepseek',
  'eu',
  'fireworks',
  'fireworks_ai',
  'gemini',
  'github',
  'global',
  'global-standard',
  'google',
  'groq',
  'invoke',
  'mistral',
  'mistralai',
  'openai',
  'openrouter',
  'perplexity',
  'replicate',
  'responses',
  'text-completion-openai',
  'together',
  'together_ai',
  'us',
  'vertex',
  'vertex_ai',
  'x-ai',
  'xai',
]);

/** Region of a cloud as a segment: `bedrock/us-east-1/…`. */
const cloudRegion = /^[a-z]{2}(-gov)?-[a-z]+-\d$/;

/** Geography of an inference profile of Amazon Bedrock: `us.anthropic.…`. */
const bedrockGeography = /^(us|us-gov|eu|apac|ap|au|ca|jp|sa|global)\.(?=[a-z0-9]+\.)/;
const bedrockVendor =
  /^(ai21|amazon|anthropic|cohere|deepseek|google|meta|mistral|moonshot|openai|qwen|writer)\./;
/** Revisions of Amazon Bedrock: `:0` and `:0:200k`, then `-v1`. */
const bedrockRevisions = [/(:\d+[a-z]*)+$/, /-v\d+$/];

/** Bounds the work for names that repeat a prefix: names come from callers. */
const prefixesMax = 8;

/** Returns the names that remain as prefixes are removed one by one, the longest first. Empty if the name has none. */
export function withoutProviderPrefixes(name: string): string[] {
  const names: string[] = [];
  let rest = name;
  for (let next = withoutFirstPrefix(rest); next !== undefined && names.length < prefixesMax; ) {
    names.push(next);
    rest = next;
    next = withoutFirstPrefix(rest);
  }
  if (bedrockVendor.test(rest)) {
    const bare = rest.replace(bedrockVendor, '');
    names.push(bare, ...withoutRevisions(bare));
  }
  return names.filter((one) => one !== '');
}

function withoutFirstPrefix(name: string): string | undefined {
  if (name.startsWith('arn:')) {
    const slash = name.lastIndexOf('/');
    return slash === -1 ? undefined : name.slice(slash + 1);
  }
  const collection = name.lastIndexOf('models/');
  if (collection === 0 || name[collection - 1] === '/') {
    return name.slice(collection + 'models/'.length);
  }
  const slash = name.indexOf('/');
  if (slash !== -1) {
    const segment = name.slice(0, slash);
    return providerSegments.has(segment) || cloudRegion.test(segment) ? name.slice(slash + 1) : undefined;
  }
  return bedrockGeography.test(name) ? name.replace(bedrockGeography, '') : undefined;
}

function withoutRevisions(name: string): string[] {
  const names: string[] = [];
  let rest = name;
  for (const revision of bedrockRevisions) {
    if (revision.test(rest)) {
      rest = rest.replace(revision, '');
      names.push(rest);
    }
  }
  return names;
}

const dateSuffixes = [
  /-20\d{2}-[01]\d-[0-3]\d$/,
  /[-@]20\d{2}[01]\d[0-3]\d$/,
  /[-@]00\d$/,
  /[-@:]latest$/,
  /@default$/,
];

/** Returns the name without the date or number of its release; undefined if it ends with none. */
export function withoutDateSuffix(name: string): string | undefined {
  const suffix = dateSuffixes.find((form) => form.test(name));
  const rest = suffix && name.replace(suffix, '');
  return rest === '' ? undefined : rest;
}
