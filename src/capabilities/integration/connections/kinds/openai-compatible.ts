/** Any provider with the API of OpenAI. */
import { mayBeLost } from './charged-failures.ts';
import { bearerToken } from './key-header.ts';
import { messageBody, openAiPaths } from './openai-kind.ts';
import type { ProviderKind } from './provider-kind.ts';

export const openAiCompatible: ProviderKind = {
  label: 'OpenAI-compatible',
  commandName: 'compatible',
  defaultUrl: undefined,
  provider: null,
  urlParameters: [],
  account: undefined,
  paths: openAiPaths,
  versions: {},
  imitated: new Map(),
  envelopes: new Map(),
  modelId: undefined,
  isPricedById: false,
  credentialSources: {},
  authenticate: bearerToken,
  keyHeaders: ['authorization'],
  accountHeaders: [],
  tierHeader: undefined,
  isAnyProvider: true,
  namesModels: false,
  servesDeployments: false,
  enforcesContext: false,
  wholeStreams: [],
  mayChargeFailure: mayBeLost,
  test: { model: undefined, path: undefined, bodyOf: messageBody },
};
