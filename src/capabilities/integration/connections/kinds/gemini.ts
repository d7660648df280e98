/** The Gemini API of Google, with a key. */
import { shorterNames } from '../../../../kernel/model-names.ts';
import { callFormats } from '../../../../kernel/providers/formats.ts';
import { isLostByProxy } from './charged-failures.ts';
import { bearerToken, keyHeader } from './key-header.ts';
import type { ProviderKind } from './provider-kind.ts';

const { chat, gemini: format, gemini_embeddings: embeddings } = callFormats;
const path = `/{version}${format.path}`;

const chatPath = `/v1beta/openai${chat.path}`;
const sendKey = keyHeader('x-goog-api-key');

/** Returns the name of a model at the endpoint with the API of OpenAI; undefined if it is not a model of Google. */
function compatibleModelName(model: string): string | undefined {
  const name = shorterNames(model).at(-1)?.name ?? model;
  return /^(gemini|gemma|learnlm)/.test(name) ? name : undefined;
}

export const gemini: ProviderKind = {
  label: 'Gemini',
  commandName: 'gemini',
  defaultUrl: ({ gatewayGeminiUrl }) => gatewayGeminiUrl,
  provider: 'google',
  urlParameters: [],
  account: undefined,
  paths: new Map([
    [format, path],
    [embeddings, path],
    [chat, chatPath],
  ]),
  versions: {},
  imitated: new Map([[chat, compatibleModelName]]),
  envelopes: new Map(),
  modelId: undefined,
  isPricedById: false,
  credentialSources: {},
  authenticate(request, credential) {
    (request.path === chatPath ? bearerToken : sendKey)(request, credential);
  },
  keyHeaders: ['x-goog-api-key'],
  accountHeaders: ['x-goog-user-project'],
  tierHeader: undefined,
  isAnyProvider: false,
  namesModels: false,
  servesDeployments: false,
  enforcesContext: true,
  wholeStreams: [],
  mayChargeFailure: isLostByProxy,
  test: {
    model: 'gemini-2.5-flash-lite',
    path: `/gemini/v1beta${format.path}:generateContent`,
    bodyOf: (_, text, maxOutputTokens) => ({
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: { maxOutputTokens, thinkingConfig: { thinkingBudget: 0 } },
    }),
  },
};
