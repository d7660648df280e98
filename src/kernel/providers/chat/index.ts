/** Chat completions of OpenAI, and of the providers with a compatible API. */

import type { CallFormat } from '../call-format.ts';
import { fieldsOf } from '../fields.ts';
import { openAiErrors } from '../openai-errors.ts';
import { endUserOf, serviceOf } from '../openai-request.ts';
import { openAiUsage } from '../openai-usage.ts';
import { searchesOfModel, withServerTools } from '../server-tools.ts';
import { chatMembers } from './members.ts';
import { createOpenChat } from './open-stream.ts';
import { ChatStream, repeatedText } from './stream.ts';

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
      mayBeZero: false,
      choicesName: 'n',
    },
    takesTokenIds: false,
    inputsOf: undefined,
    requestsUsage: true,
    cachesOnRequest: false,
    reasonsOnRequest: false,
    betas: undefined,
    endUserOf,
    serviceOf,
  },
  tools: {
    areOffered: true,
    isRunByClient: ({ type }) => type === 'function' || type === 'custom',
    resultTypes: [],
    callsMaxName: undefined,
    limitsEach: false,
    showsCalls: false,
    searchesOf: searchesOfModel,
    hasStoredPrompts: false,
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
    outputIn: ({ choices }) => choices,
    readStream: (boundOf, choices) => new ChatStream(boundOf, choices),
    openStream: createOpenChat,
    repeatedText,
  },
  errors: openAiErrors,
};
