/** Calls of the SDKs of OpenAI and Anthropic, in every API: plain, streamed, with their helpers and with tools. */
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { expect } from 'vitest';

export interface Sdks {
  readonly openai: OpenAI;
  readonly compat: OpenAI;
  readonly anthropic: Anthropic;
}

export interface Call {
  readonly api: string;
  readonly model: string;
  /** Returns the object of the SDK. */
  plain(sdks: Sdks, body?: object, options?: { signal: AbortSignal }): Promise<object>;
  /** Starts a stream; `with` sets more fields of the body. */
  stream?(sdks: Sdks, body?: object): Promise<Stream>;
  /** Returns the final object of the stream helper. */
  helper?(sdks: Sdks, body?: object): Promise<object>;
  readonly tools?: object;
}

export interface Stream extends AsyncIterable<object> {
  readonly controller: AbortController;
}

const question = [{ role: 'user' as const, content: 'Say hello to the wörld' }];
const schema = { type: 'object', properties: { q: { type: 'string' } } };

export function openAiCalls(name: 'openai' | 'compat'): Call[] {
  const chat = { model: 'gpt-test', messages: question };
  const response = { model: 'gpt-test', input: 'Say hello to the wörld' };
  return [
    {
      api: `${name}, chat`,
      model: 'gpt-test',
      plain: (sdks, body, options) =>
        sdks[name].chat.completions.create({ ...chat, ...body, stream: false }, options),
      stream: (sdks, body) => sdks[name].chat.completions.create({ ...chat, ...body, stream: true }),
      helper: (sdks, body) => sdks[name].chat.completions.stream({ ...chat, ...body }).finalChatCompletion(),
      tools: { tools: [{ type: 'function', function: { name: 'lookup', parameters: schema } }] },
    },
    {
      api: `${name}, responses`,
      model: 'gpt-test',
      plain: (sdks, body, options) =>
        sdks[name].responses.create({ ...response, ...body, stream: false }, options),
      stream: (sdks, body) => sdks[name].responses.create({ ...response, ...body, stream: true }),
      helper: (sdks, body) => sdks[name].responses.stream({ ...response, ...body }).finalResponse(),
      tools: { tools: [{ type: 'function', name: 'lookup', parameters: schema, strict: false }] },
    },
    {
      api: `${name}, embeddings`,
      model: 'embed-test',
      plain: (sdks, _, options) =>
        sdks[name].embeddings.create({ model: 'embed-test', input: ['one two', 'three'] }, options),
    },
  ];
}

const message = { model: 'claude-test', max_tokens: 50, messages: question };
export const calls: readonly Call[] = [
  ...openAiCalls('openai'),
  {
    api: 'anthropic, messages',
    model: 'claude-test',
    plain: (sdks, body, options) =>
      sdks.anthropic.messages.create({ ...message, ...body, stream: false }, options),
    stream: (sdks, body) => sdks.anthropic.messages.create({ ...message, ...body, stream: true }),
    helper: (sdks, body) => sdks.anthropic.messages.stream({ ...message, ...body }).finalMessage(),
    tools: { tools: [{ name: 'lookup', input_schema: schema }] },
  },
];
export const streams = calls.filter(
  (call): call is Call & Required<Pick<Call, 'stream' | 'helper' | 'tools'>> => Boolean(call.stream),
);

export async function eventsOf(stream: AsyncIterable<object>): Promise<object[]> {
  const events: object[] = [];
  for await (const event of stream) {
    events.push(event);
  }
  return events;
}

export interface SdkError extends Error {
  readonly status?: number;
  readonly code?: string;
  readonly type?: string;
  readonly error?: object;
  readonly headers?: Headers;
}

export async function errorOf(call: Promise<unknown>): Promise<SdkError> {
  return call.then(
    () => expect.fail('the call succeeded'),
    (error) => error,
  );
}

/** What a program can see of an error. */
export function shown(raised: SdkError): object {
  const { message, status, code, type, error } = raised;
  return { class: raised.constructor.name, message, status, code, type, error };
}
