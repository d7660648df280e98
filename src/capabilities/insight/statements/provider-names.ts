/** Matches the provider as billed with the provider of runs. */

/** The label that integrations give the runs of a provider, by its other names in lower case: as FOCUS files and gateways have them. */
const labels: Readonly<Record<string, string>> = {
  amazon: 'aws',
  'amazon bedrock': 'aws',
  'amazon web services': 'aws',
  bedrock: 'aws',
  azure: 'azure_openai',
  'azure openai': 'azure_openai',
  microsoft: 'azure_openai',
  'microsoft azure': 'azure_openai',
  gcp: 'google',
  gemini: 'google',
  'google cloud': 'google',
  'google cloud platform': 'google',
  vertex_ai: 'google',
};

/** Returns the label of a provider in lower case. Names with the same label are one provider. */
export function providerLabel(name: string): string {
  const known = name.trim().toLowerCase();
  return Object.hasOwn(labels, known) ? (labels[known] as string) : known;
}
