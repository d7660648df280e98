/** Chat completions of OpenAI, and of the providers with a compatible API. */
import type { CallFormat } from '../call-format.ts';
import { endUserOf, serviceOf } from '../openai-request.ts';
import { searchesOfModel } from '../server-tools.ts';
import { chatMembers } from './members.ts';

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
};
