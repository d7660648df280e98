/** `Converse` of Amazon Bedrock, for models of all vendors. */
import type { CallFormat } from '../call-format.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { requestedService } from '../requested-service.ts';
import { noServerTools } from '../server-tools.ts';
import { awsErrors } from './errors.ts';
import { converseMembers } from './members.ts';
import { createOpenConverse } from './open-stream.ts';
import { refusalOf } from './refusals.ts';
import { ConverseStream } from './stream.ts';
import { calledTool, isRunByClient, typesOf } from './tools.ts';
import { converseUsage } from './usage.ts';

export const converse: CallFormat = {
  name: 'converse',
  path: '/model/{model}',
  request: {
    members: converseMembers,
    output: {
      maxNames: ['maxTokens'],
      maxName: 'maxTokens',
      compatibleMaxName: 'maxTokens',
      within: ['inferenceConfig'],
      alsoIn: ['additionalModelRequestFields'],
      mayBeZero: false,
      choicesName: undefined,
    },
    isModelInPath: true,
    nameStyle: 'camelCase',
    takesTokenIds: false,
    inputsOf: undefined,
    requestsUsage: false,
    cachesOnRequest: true,
    reasonsOnRequest: false,
    betas: { header: undefined, member: 'additionalModelRequestFields' },
    endUserOf: () => undefined,
    serviceOf: ({ serviceTier }) => requestedService(fieldsOf(serviceTier).type, undefined),
    refusalOf,
  },
  tools: {
    areOffered: true,
    isRunByClient,
    typesOf,
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
    isResponse: ({ output, stopReason }) => output != null && typeof stopReason === 'string',
    usageOf: converseUsage,
    outputIn: (answer) => contentOf(answer).map((block) => ({ ...fieldsOf(block), ...calledTool(block) })),
    framing: 'aws_events',
    readStream: (boundOf) => new ConverseStream(boundOf),
    openStream: createOpenConverse,
    // Each event has padding of another length.
    repeatedText: () => undefined,
    assembly: undefined,
  },
  errors: awsErrors,
};

function contentOf({ output }: Fields): readonly unknown[] {
  const { content } = fieldsOf(fieldsOf(output).message);
  return Array.isArray(content) ? content : [output];
}
