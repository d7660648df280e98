/** Embeddings of Google's Gemini API. */
import type { CallFormat } from '../call-format.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { gemini } from '../gemini/index.ts';
import { usageOfMetadata } from '../gemini/usage.ts';
import { refusedTier } from '../requested-service.ts';
import { noServerTools } from '../server-tools.ts';
import { geminiEmbeddingsMembers } from './members.ts';

function inputsOf({ requests }: Fields): number {
  return Array.isArray(requests) ? Math.max(1, requests.length) : 1;
}

export const geminiEmbeddings: CallFormat = {
  name: 'gemini_embeddings',
  path: gemini.path,
  request: {
    members: geminiEmbeddingsMembers,
    output: undefined,
    isModelInPath: true,
    nameStyle: 'any',
    takesTokenIds: false,
    inputsOf,
    requestsUsage: false,
    cachesOnRequest: false,
    reasonsOnRequest: false,
    betas: undefined,
    endUserOf: () => undefined,
    serviceOf: gemini.request.serviceOf,
    refusalOf: refusedTier,
  },
  tools: {
    areOffered: false,
    isRunByClient: () => false,
    typesOf: () => [],
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
    isResponse: () => false,
    // Older models report no usage.
    usageOf: (answer) => usageOfMetadata(fieldsOf(answer).usageMetadata, noServerTools),
    // Vectors are not charged.
    outputIn: () => undefined,
    framing: 'sse',
    readStream: gemini.response.readStream,
    openStream: gemini.response.openStream,
    repeatedText: () => undefined,
    assembly: undefined,
  },
  errors: gemini.errors,
};
