import { callFormats } from '../../../../kernel/providers/formats.ts';
import { openAiSources } from '../../../../platform/cloud-credentials/exchanges/openai.ts';
import { isLostByProxy } from './charged-failures.ts';
import { bearerToken } from './key-header.ts';
import { messageBody, openAiPaths } from './openai-kind.ts';
import type { ProviderKind } from './provider-kind.ts';

export const openai: ProviderKind = {
  label: 'OpenAI',
  commandName: 'openai',
  defaultUrl: ({ gatewayOpenaiUrl }) => gatewayOpenaiUrl,
  provider: 'openai',
  urlParameters: [],
  account: undefined,
  paths: openAiPaths,
  versions: {},
  imitated: new Map(),
  envelopes: new Map(),
  modelId: undefined,
  isPricedById: false,
  credentialSources: openAiSources,
  authenticate: bearerToken,
  keyHeaders: ['authorization'],
  accountHeaders: ['openai-organization', 'openai-project'],
  tierHeader: undefined,
  isAnyProvider: false,
  namesModels: true,
  servesDeployments: false,
  enforcesContext: true,
  wholeStreams: [callFormats.chat, callFormats.responses],
  mayChargeFailure: isLostByProxy,
  test: { model: 'gpt-4o-mini', path: undefined, bodyOf: messageBody },
};
