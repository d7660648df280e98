/** Streams are put together as the SDKs of the providers do, and as plain responses are documented. */
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { bytesOf, type CorpusEntry, readCorpus } from '../../../test/support/corpus.ts';
import { callFormats } from './formats.ts';
import type { AssembledStream, AssemblyFormat } from './stream-assembly.ts';
import { dataOf } from './stream-usage.ts';

const assemblyOf = (api: 'chat' | 'responses' | 'messages') =>
  callFormats[api].response.assembly as AssemblyFormat;

function assembled(api: 'chat' | 'responses' | 'messages', events: readonly unknown[]): AssembledStream {
  const assembly = assemblyOf(api).start();
  for (const event of events) {
    assembly.read(dataOf({ data: typeof event === 'string' ? event : JSON.stringify(event) }));
  }
  return assembly.result();
}

const recorded = readCorpus().filter(
  ({ provider, api, events }) =>
    events !== undefined &&
    ((provider === 'openai' && api !== 'embeddings') ||
      (provider === 'anthropic' && api === 'messages') ||
      (provider === 'azure' && api === 'responses')),
);

/** Returns the object that the SDK makes of the stream. */
async function bySdk(entry: CorpusEntry): Promise<object> {
  const reply = async () =>
    new Response(new Uint8Array(bytesOf(entry)), { headers: { 'content-type': 'text/event-stream' } });
  const sdk = new Anthropic({ apiKey: 'sk', fetch: reply });
  return sdk.messages.stream({ model: entry.model, max_tokens: 10, messages: [] }).finalMessage();
}

/** Removes members without a value, and what the SDK adds. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(comparable);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, one]) => one != null && name !== 'parsed_output')
      .map(([name, one]) => [name, comparable(one)]),
  );
}

const dataIn = ({ events = [] }: CorpusEntry) =>
  events.filter(([name]) => name !== ':').map(([, data]) => data);
const named = (entries: readonly CorpusEntry[]) => entries.map((entry) => [entry.id, entry] as const);
// The expected tokens of an image include those of the model that draws it.
const whole = recorded.filter(({ id, expected }) => !expected.is_estimated && !id.includes('image'));

test.each(named(whole))('the recorded stream %s has a response with its usage', (_, entry) => {
  const api = entry.api as 'chat';
  const result = assembled(api, dataIn(entry));
  expect(result.kind).toBe('response');
  const usage = callFormats[api].response.usageOf(result.kind === 'response' ? result.body : {});
  expect(usage?.outputTokens).toBe(entry.expected.tokens.output ?? 0);
});

test.each(named(whole.filter(({ api }) => api === 'messages')))(
  'the recorded stream %s is what the SDK makes of it',
  async (_, entry) => {
    const result = assembled('messages', dataIn(entry));
    const sdk = comparable(await bySdk(entry));
    expect(comparable(result.kind === 'response' ? result.body : {})).toMatchObject(sdk as object);
  },
);

describe('chat completions', () => {
  const head = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 7,
    model: 'gpt-4o-2024-08-06',
    service_tier: 'default',
    system_fingerprint: 'fp_1',
  };
  const chunk = (choice: object, more: object = {}) => ({
    ...head,
    choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null, ...choice }],
    usage: null,
    obfuscation: 'x',
    ...more,
  });
  const usage = {
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 3,
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const end = [chunk({ finish_reason: 'stop' }), { ...head, choices: [], usage }, '[DONE]'];
  const token = (text: string) => ({ token: text, logprob: -0.1, bytes: [1], top_logprobs: [] });

  test('text with probabilities, annotations and usage', () => {
    const note = { type: 'url_citation', url_citation: { url: 'https://example.com' } };
    const result = assembled('chat', [
      chunk({ delta: { role: 'assistant', content: '', refusal: null } }),
      chunk({ delta: { content: 'Hel' }, logprobs: { content: [token('Hel')], refusal: null } }),
      chunk({ delta: { content: 'lo' }, logprobs: { content: [token('lo')], refusal: null } }),
      chunk({ delta: { annotations: [note] } }),
      ...end,
    ]);
    expect(result).toEqual({
      kind: 'response',
      body: {
        ...head,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hello', refusal: null, annotations: [note] },
            logprobs: { content: [token('Hel'), token('lo')], refusal: null },
            finish_reason: 'stop',
          },
        ],
        usage,
      },
    });
  });

  test('calls of tools, custom tools, functions and refusals of several answers', () => {
    const call = (index: number, more: object) => ({ delta: { tool_calls: [{ index, ...more }] } });
    const result = assembled('chat', [
      chunk({ delta: { role: 'assistant', content: null, refusal: null } }),
      chunk(call(0, { id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } })),
      chunk(call(0, { function: { arguments: '{"q":' } })),
      chunk(call(0, { function: { arguments: '1}' } })),
      chunk(call(1, { id: 'call_2', type: 'custom', custom: { name: 'run', input: 'l' } })),
      chunk(call(1, { custom: { input: 's' } })),
      chunk({ index: 2, delta: { role: 'assistant', content: null, refusal: 'I ' } }),
      chunk({ index: 2, delta: { refusal: 'cannot.' } }),
      chunk({ index: 1, delta: { role: 'assistant', function_call: { name: 'f', arguments: '{' } } }),
      chunk({ index: 1, delta: { function_call: { arguments: '}' } }, finish_reason: 'function_call' }),
      chunk({ index: 2, finish_reason: 'stop' }),
      chunk({ finish_reason: 'tool_calls' }),
    ]);
    expect(result).toMatchObject({
      body: {
        choices: [
          {
            index: 0,
            message: {
              content: null,
              tool_calls: [
                { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"q":1}' } },
                { id: 'call_2', type: 'custom', custom: { name: 'run', input: 'ls' } },
              ],
            },
            finish_reason: 'tool_calls',
          },
          { index: 1, message: { content: null, function_call: { name: 'f', arguments: '{}' } } },
          { index: 2, message: { content: null, refusal: 'I cannot.' }, finish_reason: 'stop' },
        ],
      },
    });
    expect(JSON.stringify(result)).not.toContain('"index":0,"id"');
  });

  test.each([
    ['delta.poem', chunk({ delta: { poem: 'x' } })],
    ['choices.mood', chunk({ mood: 'x' })],
    ['weather', chunk({}, { weather: 'x' })],
    ['tool_calls.hint', chunk({ delta: { tool_calls: [{ index: 0, hint: 'x' }] } })],
  ])('an unknown part is named: %s', (part, event) => {
    expect(assembled('chat', [event, ...end])).toEqual({ kind: 'unknown', part });
  });

  test('a stream without the end of an answer has no response', () => {
    expect(assembled('chat', [chunk({ delta: { content: 'Hel' } })])).toEqual({ kind: 'unended' });
    expect(assembled('chat', ['[DONE]'])).toEqual({ kind: 'unended' });
  });

  test.each([
    ['delta.content', { content: [{ type: 'text', text: 'Hello' }] }],
    ['delta.annotations', { annotations: { type: 'url_citation' } }],
    ['delta.tool_calls', { tool_calls: { index: 0, function: { name: 'now' } } }],
  ])('a part of another type than documented is named, not dropped: %s', (part, delta) => {
    expect(assembled('chat', [chunk({ delta }), ...end])).toEqual({ kind: 'unknown', part });
  });

  test.each([
    ['choices', (index: number) => chunk({ index, finish_reason: 'stop' })],
    ['delta.tool_calls', (index: number) => chunk({ delta: { tool_calls: [{ index }] } })],
  ])('more parts than any response has are not kept: %s', (part, chunkOf) => {
    const chunks = (count: number) => Array.from({ length: count }, (_, index) => chunkOf(index));
    expect(assembled('chat', [...chunks(9_990), ...end])).toMatchObject({ kind: 'response' });
    expect(assembled('chat', [...chunks(10_001), ...end])).toEqual({ kind: 'unknown', part });
  });

  test.each([
    ['tool_calls.id', { id: 'call_2' }],
    ['call.name', { function: { name: 'delete', arguments: '{}' } }],
  ])('calls of tools that share an index are not put together: %s', (part, more) => {
    const first = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const calls = [first, { index: 0, ...more }].map((call) => chunk({ delta: { tool_calls: [call] } }));
    expect(assembled('chat', [...calls, ...end])).toEqual({ kind: 'unknown', part });
    const again = { index: 0, id: 'call_1', function: { name: 'look', arguments: '' } };
    const repeated = [first, again].map((call) => chunk({ delta: { tool_calls: [call] } }));
    expect(assembled('chat', [...repeated, ...end])).toMatchObject({ kind: 'response' });
  });

  test('probabilities and annotations of a long answer are added in place', () => {
    const length = 20_000;
    const one = chunk({ delta: { annotations: [{}] }, logprobs: { content: [token('a')] } });
    const result = assembled('chat', [...Array.from({ length }, () => one), ...end]);
    const { choices } = (result as { body: { choices: { logprobs: object; message: object }[] } }).body;
    expect(choices[0]).toMatchObject({
      logprobs: { content: { length } },
      message: { annotations: { length } },
    });
  });
});

describe('messages', () => {
  const start = {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 1, service_tier: 'standard', cache_read_input_tokens: 0 },
    },
  };
  const block = (index: number, content: object, deltas: readonly object[] = []) => [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const end = (delta: object = { stop_reason: 'end_turn', stop_sequence: null }, more: object = {}) => [
    {
      type: 'message_delta',
      delta,
      usage: { output_tokens: 9, server_tool_use: { web_search_requests: 1 } },
      ...more,
    },
    { type: 'message_stop' },
  ];

  test('thinking with its signature, text with citations, tools and their results, stop sequence and usage', () => {
    const citation = { type: 'char_location', cited_text: 'x', document_index: 0 };
    const search = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ url: 'u' }] };
    const result = assembled('messages', [
      start,
      { type: 'ping' },
      ...block(0, { type: 'thinking', thinking: '', signature: '' }, [
        { type: 'thinking_delta', thinking: 'Well' },
        { type: 'thinking_delta', thinking: '...' },
        { type: 'signature_delta', signature: 'EqQ=' },
      ]),
      ...block(1, { type: 'redacted_thinking', data: 'abc' }),
      ...block(2, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }, [
        { type: 'input_json_delta', partial_json: '' },
        { type: 'input_json_delta', partial_json: '{"query":"a' },
        { type: 'input_json_delta', partial_json: '"}' },
      ]),
      ...block(3, search),
      ...block(4, { type: 'text', text: '', citations: [] }, [
        { type: 'text_delta', text: 'Hel' },
        { type: 'citations_delta', citation },
        { type: 'text_delta', text: 'lo' },
      ]),
      ...block(5, { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }),
      ...end(
        { stop_reason: 'stop_sequence', stop_sequence: 'END', container: { id: 'container_1' } },
        { context_management: { applied_edits: [] } },
      ),
    ]);
    expect(result).toEqual({
      kind: 'response',
      body: {
        ...start.message,
        content: [
          { type: 'thinking', thinking: 'Well...', signature: 'EqQ=' },
          { type: 'redacted_thinking', data: 'abc' },
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } },
          search,
          { type: 'text', text: 'Hello', citations: [citation] },
          { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} },
        ],
        stop_reason: 'stop_sequence',
        stop_sequence: 'END',
        container: { id: 'container_1' },
        context_management: { applied_edits: [] },
        usage: {
          input_tokens: 5,
          output_tokens: 9,
          service_tier: 'standard',
          cache_read_input_tokens: 0,
          server_tool_use: { web_search_requests: 1 },
        },
      },
    });
  });

  test.each(['constructor', '__proto__', 'toString'])(
    'the name of a built-in member means nothing: %s',
    (type) => {
      const error = { type: 'error', error: { type, message: 'No.' } };
      expect(assembled('messages', [start, error])).toMatchObject({ kind: 'error', status: 500 });
      const delta = block(0, { type: 'text', text: '' }, [{ type }]);
      expect(assembled('messages', [start, ...delta, ...end()])).toEqual({ kind: 'unknown', part: type });
    },
  );

  test('more blocks than any message has are not kept', () => {
    const blocks = Array.from({ length: 10_001 }, (_, index) => block(index, { type: 'text', text: '' }));
    const whole = (count: number) =>
      assembled('messages', [start, ...blocks.slice(0, count).flat(), ...end()]);
    expect(whole(10_000)).toMatchObject({ kind: 'response' });
    expect(whole(10_001)).toEqual({ kind: 'unknown', part: 'content_block_start' });
  });

  test.each([
    ['a second message_start', [start]],
    [
      'content_block_start',
      [...block(0, { type: 'text', text: 'a' }), ...block(0, { type: 'text', text: 'b' })],
    ],
    ['content_block_start', [{ type: 'content_block_start', content_block: { type: 'text', text: 'a' } }]],
  ])('a part that would replace another one, or has no place, is named: %s', (part, events) => {
    expect(assembled('messages', [start, ...events, ...end()])).toEqual({ kind: 'unknown', part });
  });

  test('the incomplete call of a tool is left out of a message that was ended at its maximum', () => {
    const cut = block(0, { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }, [
      { type: 'input_json_delta', partial_json: '{"q":' },
    ]);
    expect(assembled('messages', [start, ...cut, ...end({ stop_reason: 'max_tokens' })])).toMatchObject({
      body: { content: [], stop_reason: 'max_tokens' },
    });
    expect(assembled('messages', [start, ...cut, ...end()])).toMatchObject({ kind: 'unknown' });
  });

  test.each([
    ['poem', [{ type: 'poem' }]],
    ['poem_delta', block(0, { type: 'text', text: '' }, [{ type: 'poem_delta', text: 'x' }])],
    ['text_delta.mood', block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'x', mood: 1 }])],
  ])('an unknown part is named: %s', (part, events) => {
    expect(assembled('messages', [start, ...events, ...end()])).toEqual({ kind: 'unknown', part });
  });

  test.each([
    ['overloaded_error', 529],
    ['rate_limit_error', 429],
    ['invalid_request_error', 400],
    ['api_error', 500],
  ])('an error keeps its body and gets its status: %s', (type, status) => {
    const body = { type: 'error', error: { type, message: 'No.' } };
    expect(assembled('messages', [start, body])).toEqual({ kind: 'error', status, body });
  });

  test('a stream without its end has no response', () => {
    expect(assembled('messages', [start])).toEqual({ kind: 'unended' });
  });
});

describe('responses', () => {
  test.each(['completed', 'incomplete'])('the response of the last event is the response: %s', (status) => {
    const response = { id: 'resp_1', status, output: [{ type: 'poem' }], usage: { output_tokens: 1 } };
    const events = [{ type: 'response.poem' }, { type: `response.${status}`, response }];
    expect(assembled('responses', events)).toEqual({ kind: 'response', body: response });
  });

  test('a response whose last event leaves out its output is not passed on as an empty one', () => {
    const item = { type: 'response.output_item.done', item: { type: 'message' } };
    const last = (output: unknown) => ({ type: 'response.completed', response: { id: 'resp_1', output } });
    expect(assembled('responses', [item, last([{ type: 'message' }])])).toMatchObject({ kind: 'response' });
    for (const output of [[], undefined, 'x']) {
      expect(assembled('responses', [item, last(output)])).toMatchObject({ kind: 'unknown' });
    }
  });

  test.each([
    [429, 'rate_limit_error', { code: 'rate_limit_exceeded', message: 'Slow down.' }],
    [500, 'server_error', { code: 'server_error', message: 'Oh.' }],
    [400, 'invalid_request_error', { code: 'invalid_prompt', message: 'No.' }],
  ])('a failed response is an error of status %i', (status, type, error) => {
    const body = { error: { ...error, type, param: null } };
    const failed = { type: 'response.failed', response: { status: 'failed', error } };
    expect(assembled('responses', [failed])).toEqual({ kind: 'error', status, body });
    expect(assembled('responses', [{ type: 'error', ...error, param: null }])).toEqual({
      kind: 'error',
      status,
      body,
    });
  });
});
