/** `generateContent` of Google's Gemini API. */

import type { CallFormat } from '../call-format.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { refusedTier, requestedService } from '../requested-service.ts';
import { noServerTools } from '../server-tools.ts';
import { geminiErrors } from './errors.ts';
import { geminiMembers, snakeCase } from './members.ts';
import { createOpenGemini } from './open-stream.ts';
import { outputOf } from './output.ts';
import { storedAtGoogle } from './stored-tools.ts';
import { GeminiStream } from './stream.ts';
import { candidatesOf, geminiUsage } from './usage.ts';

/** The members of a tool that the client runs. */
const clientTools = new Set(['functionDeclarations', 'function_declarations', 'computerUse', 'computer_use']);

export const gemini: CallFormat = {
  name: 'gemini',
  path: '/models/{model}',
  request: {
    members: geminiMembers,
    output: {
      maxNames: ['maxOutputTokens', 'max_output_tokens'],
      maxName: 'maxOutputTokens',
      compatibleMaxName: 'maxOutputTokens',
      within: ['generationConfig', 'generation_config'],
      alsoIn: [],
      mayBeZero: false,
      choicesName: 'candidateCount',
    },
    isModelInPath: true,
    nameStyle: 'any',
    takesTokenIds: false,
    inputsOf: undefined,
    requestsUsage: false,
    cachesOnRequest: false,
    reasonsOnRequest: false,
    betas: undefined,
    endUserOf: () => undefined,
    serviceOf({ serviceTier, service_tier: snakeTier }) {
      const tier = serviceTier ?? snakeTier;
      return requestedService(typeof tier === 'string' ? tier.toLowerCase() : tier, undefined);
    },
    refusalOf: refusedTier,
  },
  tools: {
    areOffered: true,
    isRunByClient: (tool) => typesOf(tool).every((type) => clientTools.has(String(type))),
    typesOf: (tool) =>
      typesOf(tool)
        .filter((type) => !clientTools.has(String(type)))
        .map((type) => (typeof type === 'string' ? snakeCase(type) : type)),
    chargedByTokens: ['code_execution', 'url_context', 'file_search'],
    resultTypes: [],
    callsMaxName: undefined,
    limitsEach: false,
    showsCalls: true,
    searchesOf: () => noServerTools,
    hasStoredPrompts: false,
    stored: storedAtGoogle,
  },
  response: {
    isStored: false,
    isResponse: ({ candidates, promptFeedback, usageMetadata }) =>
      usageMetadata != null && (candidates != null || promptFeedback != null),
    usageOf: geminiUsage,
    outputIn: (answer) =>
      candidatesOf(answer).map((candidate) => {
        const { parts, mediaTokens } = outputOf(candidate);
        return [...parts, ' '.repeat(mediaTokens)];
      }),
    framing: 'sse',
    readStream: (boundOf, choices) => new GeminiStream(boundOf, choices),
    openStream: createOpenGemini,
    // The usage differs in each chunk.
    repeatedText: () => undefined,
    assembly: undefined,
  },
  errors: geminiErrors,
};

/** The members of a tool name what it is. A tool of another format has a type. */
function typesOf(tool: Fields): readonly unknown[] {
  const names = Object.keys(fieldsOf(tool));
  return names.length === 0 ? [undefined] : names.map((name) => (name === 'type' ? tool.type : name));
}
