/** The Gemini API of Google, with a key. */
import { callFormats } from '../../../../kernel/providers/formats.ts';
import { isLostByProxy } from './charged-failures.ts';
import { keyHeader } from './key-header.ts';
import type { ProviderKind } from './provider-kind.ts';

const { gemini: format, gemini_embeddings: embeddings } = callFormats;
const path = `/{version}${format.path}`;

export const gemini: ProviderKind = {
  label: 'Gemini',
  commandName: 'gemini',
  defaultUrl: ({ gatewayGeminiUrl }) => gatewayGeminiUrl,
  provider: 'google',
  urlParameters: [],
  paths: new Map([format, embeddings].map((one) => [one, path])),
  envelopes: new Map(),
  modelId: undefined,
  credentialSources: {},
  authenticate: keyHeader('x-goog-api-key'),
  keyHeaders: ['x-goog-api-key'],
  accountHeaders: ['x-goog-user-project'],
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
