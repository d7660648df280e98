/** The v1 API of Azure OpenAI, or one deployment. The name of a model may be that of a deployment, and says nothing about it then. */

import { fieldsOf } from '../../../../kernel/providers/fields.ts';
import { callFormats } from '../../../../kernel/providers/formats.ts';
import { azureSources } from '../../../../platform/cloud-credentials/azure/index.ts';
import { isLostByProxy, isRejection } from './charged-failures.ts';
import { keyHeader } from './key-header.ts';
import { messageBody, openAiPaths } from './openai-kind.ts';
import type { ProviderKind } from './provider-kind.ts';

/** The prompt was evaluated, and maybe answered, before the filter rejected it. Azure charges for both. */
const filtered = /content.?filter|ResponsibleAI|content.?management/i;

export const azureOpenAi: ProviderKind = {
  label: 'Azure OpenAI',
  commandName: 'azure',
  defaultUrl: undefined,
  provider: 'azure_openai',
  // Deployments need it with every request.
  urlParameters: ['api-version'],
  account: undefined,
  paths: openAiPaths,
  versions: {},
  imitated: new Map(),
  envelopes: new Map(),
  modelId: undefined,
  isPricedById: false,
  credentialSources: azureSources,
  authenticate: keyHeader('api-key'),
  keyHeaders: ['api-key'],
  accountHeaders: [],
  tierHeader: undefined,
  isAnyProvider: false,
  namesModels: false,
  servesDeployments: true,
  enforcesContext: false,
  wholeStreams: [callFormats.responses],
  mayChargeFailure: (response, answer) =>
    isRejection(response)
      ? response.status >= 400 && filtered.test(JSON.stringify(fieldsOf(answer).error ?? ''))
      : isLostByProxy(response, answer),
  test: { model: 'gpt-4o-mini', path: undefined, bodyOf: messageBody },
};
