/** The Responses API of OpenAI. */

import type { CallFormat } from '../call-format.ts';
import { fieldsOf } from '../fields.ts';
import { endUserOf, serviceOf } from '../openai-request.ts';
import { refusedTier } from '../requested-service.ts';
import { noServerTools } from '../server-tools.ts';
import { responsesAssembly } from './assembly.ts';
import { responsesErrors } from './errors.ts';
import { responsesMembers } from './members.ts';
import { createOpenResponse } from './open-stream.ts';
import { ResponsesStream } from './stream.ts';
import { responsesUsage } from './usage.ts';

/** Types of tools that the client runs. */
const clientTypes = new Set<unknown>([
  'function',
  'custom',
  'local_shell',
  'apply_patch',
  'computer',
  'computer_use_preview',
]);

export const responses: CallFormat = {
  name: 'responses',
  path: '/responses',
  request: {
    members: responsesMembers,
    output: {
      maxNames: ['max_output_tokens'],
      maxName: 'max_output_tokens',
      compatibleMaxName: 'max_output_tokens',
      within: undefined,
      alsoIn: [],
      mayBeZero: false,
      choicesName: undefined,
    },
    isModelInPath: false,
    nameStyle: 'snake_case',
    takesTokenIds: false,
    inputsOf: undefined,
    requestsUsage: false,
    cachesOnRequest: false,
    reasonsOnRequest: false,
    betas: undefined,
    endUserOf,
    serviceOf,
    refusalOf: refusedTier,
  },
  tools: {
    areOffered: true,
    isRunByClient: ({ type, environment, execution, tools }) =>
      clientTypes.has(type) ||
      (type === 'shell' && fieldsOf(environment).type === 'local') ||
      (type === 'tool_search' && execution === 'client') ||
      (type === 'namespace' &&
        Array.isArray(tools) &&
        tools.every((inner) => clientTypes.has(fieldsOf(inner).type))),
    typesOf: ({ type }) => [type],
    chargedByTokens: [],
    resultTypes: ['web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call'],
    callsMaxName: 'max_tool_calls',
    limitsEach: false,
    showsCalls: true,
    searchesOf: () => noServerTools,
    hasStoredPrompts: true,
    stored: undefined,
  },
  response: {
    isStored: true,
    isResponse: ({ object, type }) => object === 'response' && type !== 'message',
    usageOf: responsesUsage,
    outputIn: ({ output }) => output,
    framing: 'sse',
    readStream: (boundOf) => new ResponsesStream(boundOf),
    openStream: createOpenResponse,
    repeatedText: () => undefined,
    assembly: responsesAssembly,
  },
  errors: responsesErrors,
};
