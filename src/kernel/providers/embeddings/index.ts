/** Embeddings of OpenAI, and of the providers with a compatible API. They have no output. */

import type { CallFormat } from '../call-format.ts';
import { chat } from '../chat/index.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { openAiErrors } from '../openai-errors.ts';
import { endUserOf, serviceOf } from '../openai-request.ts';
import { openAiUsage } from '../openai-usage.ts';
import { refusedTier } from '../requested-service.ts';
import { noServerTools } from '../server-tools.ts';
import { embeddingsMembers } from './members.ts';

/** Returns the length of the longest list, since a list of any name may contain the inputs. */
function inputsOf(body: Fields): number {
  return Object.values(body).reduce<number>(
    (most, value) => (Array.isArray(value) ? Math.max(most, value.length) : most),
    1,
  );
}

export const embeddings: CallFormat = {
  name: 'embeddings',
  path: '/embeddings',
  request: {
    members: embeddingsMembers,
    output: undefined,
    isModelInPath: false,
    nameStyle: 'snake_case',
    takesTokenIds: true,
    inputsOf,
    requestsUsage: false,
    cachesOnRequest: false,
    reasonsOnRequest: false,
    betas: undefined,
    endUserOf,
    serviceOf,
    refusalOf: refusedTier,
  },
  tools: {
    areOffered: false,
    isRunByClient: () => false,
    typesOf: ({ type }) => [type],
    chargedByTokens: [],
    resultTypes: [],
    callsMaxName: undefined,
    limitsEach: false,
    showsCalls: true,
    searchesOf: () => noServerTools,
    hasStoredPrompts: false,
    stored: undefined,
  },
  response: {
    isStored: false,
    // The usage has the same member names as that of a chat.
    isResponse: () => false,
    usageOf(answer) {
      const { usage, service_tier: tier } = fieldsOf(answer);
      return openAiUsage(usage, tier, false);
    },
    // Vectors are not charged.
    outputIn: () => undefined,
    framing: 'sse',
    readStream: chat.response.readStream,
    openStream: chat.response.openStream,
    repeatedText: () => undefined,
    assembly: undefined,
  },
  errors: openAiErrors,
};
