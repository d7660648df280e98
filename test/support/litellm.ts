/** The proxy of LiteLLM from PyPI, for tests and the bench. */
import type { Tool } from './tool-cache.ts';

export const liteLlmVersion = '1.106.2';

export const liteLlm: Tool = {
  name: 'litellm',
  from: 'PyPI',
  packages: [`litellm[proxy]==${liteLlmVersion}`],
};

/** Settings of a proxy that asks no other server for anything. */
export const liteLlmSettings: Readonly<Record<string, string>> = {
  LITELLM_MODE: 'PRODUCTION',
  LITELLM_LOG: 'ERROR',
  // Otherwise prices are downloaded at the start.
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
};
