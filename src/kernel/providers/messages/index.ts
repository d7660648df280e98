/** Messages of Anthropic. */

import type { CallFormat } from '../call-format.ts';
import { fieldsOf } from '../fields.ts';
import { refusedTier, requestedService } from '../requested-service.ts';
import { noServerTools } from '../server-tools.ts';
import { messagesAssembly } from './assembly.ts';
import { anthropicErrors } from './errors.ts';
import { messagesMembers } from './members.ts';
import { createOpenMessage } from './open-stream.ts';
import { MessagesStream } from './stream.ts';
import { messagesUsage } from './usage.ts';

const datedClientTypes = /^(bash|text_editor|computer|memory)_\d{8}$/;

export const messages: CallFormat = {
  name: 'messages',
  path: '/messages',
  request: {
    members: messagesMembers,
    output: {
      maxNames: ['max_tokens'],
      maxName: 'max_tokens',
      compatibleMaxName: 'max_tokens',
      within: undefined,
      alsoIn: [],
      mayBeZero: true,
      choicesName: undefined,
    },
    isModelInPath: false,
    nameStyle: 'snake_case',
    takesTokenIds: false,
    inputsOf: undefined,
    requestsUsage: false,
    cachesOnRequest: true,
    reasonsOnRequest: true,
    betas: { header: 'anthropic-beta', member: 'anthropic_beta' },
    endUserOf: ({ metadata }) => fieldsOf(metadata).user_id,
    serviceOf: ({ speed, service_tier: tier, inference_geo: region }) =>
      requestedService(speed === 'fast' ? speed : tier, region),
    refusalOf: refusedTier,
  },
  tools: {
    areOffered: true,
    // A tool without a type is a function of the client.
    isRunByClient: ({ type }) =>
      type == null || type === 'custom' || (typeof type === 'string' && datedClientTypes.test(type)),
    typesOf: ({ type }) => [type],
    chargedByTokens: [],
    resultTypes: [
      'web_search_tool_result',
      'web_fetch_tool_result',
      'code_execution_tool_result',
      'bash_code_execution_tool_result',
      'text_editor_code_execution_tool_result',
      'tool_search_tool_result',
      'advisor_tool_result',
    ],
    callsMaxName: undefined,
    limitsEach: true,
    showsCalls: true,
    searchesOf: () => noServerTools,
    hasStoredPrompts: false,
    stored: undefined,
  },
  response: {
    isStored: false,
    isResponse: ({ type }) => type === 'message',
    usageOf: (answer) => messagesUsage(fieldsOf(answer).usage),
    outputIn: ({ content }) => content,
    framing: 'sse',
    readStream: (boundOf) => new MessagesStream(boundOf),
    openStream: createOpenMessage,
    repeatedText: ({ type, delta }) =>
      type === 'content_block_delta' && fieldsOf(delta).type === 'text_delta' ? 'text' : undefined,
    assembly: messagesAssembly,
  },
  errors: anthropicErrors,
};
