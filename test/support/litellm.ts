/** The proxy of LiteLLM from PyPI, for tests and the bench. */
import type { Tool } from './tool-cache.ts';

export const liteLlmVersion = '1.106.2';

export const liteLlm: Tool = {
  name: 'litellm',
  from: 'PyPI',
  packages: [`litellm[proxy]==${liteLlmVersion}`],
};

export const liteLlmNewestVersion = '1.109.1';

/** The newest version, whose budgets reserve. It requires versions of two packages that some mirrors do not have yet. */
export const liteLlmNewest: Tool = {
  name: 'litellm-newest',
  from: 'PyPI',
  packages: [`litellm[proxy]==${liteLlmNewestVersion}`],
  overrides: { certifi: '>=2026.6', 'litellm-proxy-extras': '>=0.4' },
  python: '3.12',
};

/** Settings of a proxy that asks no other server for anything. */
export const liteLlmSettings: Readonly<Record<string, string>> = {
  LITELLM_MODE: 'PRODUCTION',
  LITELLM_LOG: 'ERROR',
  // Otherwise prices are downloaded at the start.
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
};
