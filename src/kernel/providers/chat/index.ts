/** Chat completions of OpenAI, and of the providers with a compatible API. */

import type { CallFormat } from '../call-format.ts';
import { fieldsOf } from '../fields.ts';
import { storedAtGoogle } from '../gemini/stored-tools.ts';
import { openAiErrors } from '../openai-errors.ts';
import { endUserOf, serviceOf } from '../openai-request.ts';
import { openAiUsage } from '../openai-usage.ts';
import { refusedTier } from '../requested-service.ts';
import { searchesOfModel, withServerTools } from '../server-tools.ts';
import { chatAssembly } from './assembly.ts';
import { chatMembers } from './members.ts';
import { createOpenChat } from './open-stream.ts';
import { ChatStream, repeatedText } from './stream.ts';

/** Azure names in each choice what its filters found, which is not output. */
function answerIn(choice: unknown): unknown {
  const { message, delta, text } = fieldsOf(choice);
  return message ?? delta ?? text ?? choice;
}

export const chat: CallFormat = {
  name: 'chat',
  path: '/chat/completions',
  request: {
    members: chatMembers,
    output: {
      maxNames: ['max_completion_tokens', 'max_tokens'],
      // Reasoning models of OpenAI reject `max_tokens`.
      maxName: 'max_completion_tokens',
      compatibleMaxName: 'max_tokens',
      within: undefined,
      alsoIn: [],
      mayBeZero: false,
      choicesName: 'n',
    },
    isModelInPath: false,
    nameStyle: 'snake_case',
    takesTokenIds: false,
    inputsOf: undefined,
    requestsUsage: true,
    cachesOnRequest: false,
    reasonsOnRequest: false,
    betas: undefined,
    endUserOf,
    serviceOf,
    refusalOf: refusedTier,
  },
  tools: {
    areOffered: true,
    isRunByClient: ({ type }) => type === 'function' || type === 'custom',
    typesOf: ({ type }) => [type],
    chargedByTokens: [],
    resultTypes: [],
    callsMaxName: undefined,
    limitsEach: false,
    showsCalls: false,
    searchesOf: searchesOfModel,
    hasStoredPrompts: false,
    // Chats of Gemini may name its cached content.
    stored: storedAtGoogle,
  },
  response: {
    isStored: false,
    isResponse: ({ object, type, usage }) =>
      object !== 'response' && type !== 'message' && 'prompt_tokens' in fieldsOf(usage),
    usageOf(answer) {
      const { usage, service_tier: tier, model } = fieldsOf(answer);
      const reported = openAiUsage(usage, tier);
      return reported && withServerTools(reported, searchesOfModel(model));
    },
    outputIn: ({ choices }) => (Array.isArray(choices) ? choices.map(answerIn) : choices),
    framing: 'sse',
    readStream: (boundOf, choices) => new ChatStream(boundOf, choices),
    openStream: createOpenChat,
    repeatedText,
    assembly: chatAssembly,
  },
  errors: openAiErrors,
};
