/** Content that the gateway does not recognize is held at the context of the model, or refused; ordinary bodies are seen completely. */
import { describe, expect, test } from 'vitest';
import type { Fields } from '../kernel/providers/fields.ts';
import { callFormats, type FormatName } from '../kernel/providers/formats.ts';
import { workMemoryOf } from '../platform/http/message/body-memory.ts';
import { completed } from '../platform/sliced-work.ts';
import { CallMemory } from './body/call-memory.ts';
import { inputPartsOf } from './body/input-parts.ts';
import { parseCall } from './parse-call.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const dataUrl = `data:image/png;base64,${png}`;
const text = 'The ship left the harbour at noon. '.repeat(40);

function parseText(shape: FormatName, text: string | Buffer) {
  return completed(parseCall(callFormats[shape], Buffer.from(text), new CallMemory(workMemoryOf('org_1'))));
}

function partsOf(shape: FormatName, body: object) {
  const { body: parsed } = parseText(shape, JSON.stringify({ model: 'gpt-4o', ...body }));
  return inputPartsOf({ format: callFormats[shape], body: parsed as Fields }, 'gpt-4o');
}

const user = (...content: unknown[]) => [{ role: 'user', content }];

describe('unseen', () => {
  test.each<[FormatName, object, string]>([
    ['responses', { input: [{ id: 'msg_1' }] }, 'input[0]'],
    ['responses', { input: [{ type: null, role: 'user', content: 'hi' }] }, 'input[0]'],
    ['responses', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]'],
    [
      'responses',
      { input: user({ type: 'input_text', text: 'a' }, { type: 'input_video' }) },
      'input[0].content[1]',
    ],
    ['responses', { input: 'a', previous_response_id: 'resp_1' }, 'previous_response_id'],
    [
      'chat',
      { messages: user('a'), chat_template: '{% for i in range(9999) %} a{% endfor %}' },
      'chat_template',
    ],
    ['chat', { messages: [], mm_processor_kwargs: { min_pixels: 1e8 } }, 'mm_processor_kwargs'],
    [
      'messages',
      {
        messages: user({
          type: 'image',
          source: { type: 'base64', media_type: 'application/pdf', data: png },
        }),
      },
      'messages[0].content[0].source.media_type',
    ],
    ['responses', { input: 'a', conversation: { id: 'conv_1' } }, 'conversation'],
    ['responses', { input: user({ type: 'input_image', file_id: 'file_1' }) }, 'input[0].content[0].file_id'],
    ['responses', { input: user({ type: 'input_file', file_url: 'https://a' }) }, 'input[0].content[0]'],
    [
      'chat',
      { messages: user({ type: 'image_url', image_url: { url: dataUrl }, content: text }) },
      'messages[0].content[0].content',
    ],
    [
      'chat',
      { messages: user({ type: 'image_url', image_url: { url: text } }) },
      'messages[0].content[0].image_url.url',
    ],
    ['responses', { input: 'a', text: { format: { type: 'document', content: text } } }, 'text.format'],
    ['messages', { messages: user(), thinking: { type: 'document', input: text } }, 'thinking'],
    [
      'chat',
      { messages: user({ type: 'video_url', video_url: { url: 'https://a' } }) },
      'messages[0].content[0]',
    ],
    [
      'chat',
      { messages: user({ type: 'audio_url', audio_url: { url: 'https://a' } }) },
      'messages[0].content[0]',
    ],
    ['chat', { messages: user({ type: 'file' }) }, 'messages[0].content[0]'],
    ['chat', { messages: user({ text }) }, 'messages[0].content[0]'],
    ['chat', { messages: user('a'), cached_content: 'cachedContents/1' }, 'cached_content'],
    ['chat', { messages: user('a'), attachments: [{ id: 'file_1' }] }, 'attachments'],
    [
      'messages',
      { max_tokens: 1, messages: user({ type: 'image', source: { type: 'file', file_id: 'file_1' } }) },
      'messages[0].content[0].source.file_id',
    ],
    [
      'messages',
      { max_tokens: 1, messages: user({ type: 'document', source: 7 }) },
      'messages[0].content[0]',
    ],
    ['messages', { max_tokens: 1, messages: user('a'), thread: { type: 'continue' } }, 'thread'],
    ['embeddings', { input: [{ image: 'https://a' }] }, 'input[0]'],
  ])('%s %j names %s', (shape, body, path) => {
    const { unseen, hasUnseen } = partsOf(shape, body);
    expect([hasUnseen, unseen?.path]).toEqual([true, path]);
  });

  test.each<[FormatName, object, string]>([
    ['responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0]'],
    ['responses', { tools: [{ type: 'mcp', server_url: 'https://a', connector_id: 'c' }] }, 'tools[0]'],
    ['responses', { input: [{ type: 'web_search_call', id: 'ws_1', file_id: 'file_1' }] }, 'input[0]'],
    ['responses', { input: [{ type: 'image_generation_call', result: 'AAAA' }] }, 'input[0].result'],
    [
      'messages',
      { max_tokens: 1, messages: user({ type: 'web_fetch_tool_result', content: { type: 'a' } }) },
      'messages[0].content[0]',
    ],
    ['messages', { max_tokens: 1, messages: [], container: { id: 'c', file_id: 'file_1' } }, 'container'],
  ])('%s %j belongs to a tool of the provider at %s', (shape, body, path) => {
    expect(partsOf(shape, body)).toMatchObject({ hasUnseen: true, unseen: { path, cause: 'tool' } });
  });

  test.each<[FormatName, object, string]>([
    [
      'responses',
      { tools: [{ type: 'web_search' }], input: user({ type: 'input_file', file_id: 'file_1' }) },
      'input[0].content[0]',
    ],
    ['responses', { tools: [{ type: 'function', name: 'a', file_ids: ['file_1'] }] }, 'tools[0].file_ids'],
    [
      'messages',
      { max_tokens: 1, messages: user({ type: 'container_upload', file_id: 'f' }) },
      'messages[0].content[0]',
    ],
  ])('%s %j does not, and is named at %s', (shape, body, path) => {
    const { unseen } = partsOf(shape, body);
    expect(unseen?.path).toBe(path);
    expect(unseen?.cause).not.toBe('tool');
  });

  test('text beside an image counts', () => {
    const image = { type: 'image_url', image_url: { url: dataUrl } };
    const without = partsOf('chat', { messages: user(image) });
    const beside = partsOf('chat', { messages: user({ ...image, content: text }) });
    expect(without.hasUnseen).toBe(false);
    expect(beside.textBytes - without.textBytes).toBeGreaterThan(text.length);
  });

  test('a screenshot at an address is an image of any size', () => {
    const output = { type: 'computer_screenshot', image_url: 'https://a/b.png' };
    const input = [{ type: 'computer_call_output', call_id: 'call_1', output }];
    expect(partsOf('responses', { input })).toMatchObject({ hasUnseen: false, imageTokens: 85 + 8 * 170 });
  });

  test.each([
    [{ url: dataUrl.replace(png, 'A'.repeat(40)), detail: 'low' }, 85],
    [{ url: 'https://a', detail: 'LOW' }, 85 + 8 * 170],
  ])('the detail of an image decides only if it is a known one: %j', (image, tokens) => {
    expect(partsOf('chat', { messages: user({ type: 'image_url', image_url: image }) }).imageTokens).toBe(
      tokens,
    );
  });

  test('of contradictory details of unseen input the larger one counts', () => {
    const image = { type: 'image_url', image_url: { url: 'https://a', detail: 'high' }, detail: 'low' };
    expect(partsOf('chat', { messages: user(image) }).imageTokens).toBe(85 + 8 * 170);
  });
});

describe('rejected', () => {
  test.each<[FormatName, object, string]>([
    ['chat', { messages: [], Max_Tokens: 9_000 }, 'Max_Tokens'],
    ['chat', { messages: [], 'max_to\u212aens': 9_000 }, 'max_to\u212aens'],
    ['chat', { messages: [], maxTokens: 9_000 }, 'maxTokens'],
    ['chat', { messages: [], ' model': 'gpt-5' }, ' model'],
    ['responses', { input: 'a', Model: 'gpt-5' }, 'Model'],
    ['chat', { messages: [{ role: 'user', Content: text }] }, 'messages[0].Content'],
    [
      'messages',
      { max_tokens: 1, messages: [], thinking: { type: 'enabled', Budget_Tokens: 5 } },
      'thinking.Budget_Tokens',
    ],
    ['chat', { messages: [], options: { num_predict: 5_000 } }, 'options.num_predict'],
    ['chat', { messages: [], extra_body: { n: 8 } }, 'extra_body.n'],
    ['chat', { messages: [], stream: 7 }, 'stream'],
    ['responses', { input: 'a', stream: 'true' }, 'stream'],
    ['responses', { input: 'a', background: 1 }, 'background'],
    ['chat', { messages: [], n: '8' }, 'n'],
    ['chat', { messages: [], best_of: 2.5 }, 'best_of'],
    ['messages', { max_tokens: '9000', messages: [] }, 'max_tokens'],
    ['chat', { messages: [], service_tier: ['priority'] }, 'service_tier'],
    ['chat', { messages: [], models: ['gpt-4o', 'gpt-5-pro'] }, 'models'],
    ['messages', { max_tokens: 1, messages: [], fallbacks: [{ model: 'claude-opus-4-1' }] }, 'fallbacks'],
  ])('%s %j', (shape, body, field) => {
    expect(() => partsOf(shape, body)).toThrow(
      expect.objectContaining({ status: 400, code: 'invalid_value', details: { field } }),
    );
  });

  test.each([
    '{"model":"m","input":"a","previous_response_id":"resp_1","previous_response_id":null}',
    '{"model":"m","input":[{"role":"user","content":"a","content":"b"}]}',
    '{"model":"m","input":"a","text":{"format":{"type":"text"},"format":{"type":"json_object"}}}',
  ])('a name that appears twice: %s', (body) => {
    expect(() => parseText('responses', body)).toThrow(
      expect.objectContaining({ status: 400, code: 'invalid_json' }),
    );
  });

  test('a body that is not UTF-8', () => {
    const body = Buffer.from('{"model":"m","input":"a","mo\u0001del":"b"}'.replace('\\u0001', 'x'), 'latin1');
    body[body.indexOf(1)] = 0xff;
    expect(() => parseText('responses', body)).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });
});

test('names of other providers for the maximum and the number of answers count in the worst direction', () => {
  const call = (body: object) => parseText('chat', JSON.stringify({ model: 'm', messages: [], ...body }));
  expect(call({ max_tokens: 500, max_new_tokens: 9_000 })).toMatchObject({
    maxOutputTokens: 500,
    maxFields: [{ path: 'max_tokens' }, { path: 'max_new_tokens' }],
  });
  expect(call({ n: 2, best_of: 6, num_return_sequences: 4 }).choices).toBe(6);
});

const schema = { type: 'object', properties: { City: { type: 'string' }, maxTokens: { type: 'integer' } } };

/** Requests as clients send them. */
const ordinary: Readonly<Record<string, readonly [FormatName, object]>> = {
  'Claude Code': [
    'messages',
    {
      max_tokens: 32_000,
      system: [{ type: 'text', text, cache_control: { type: 'ephemeral', ttl: '1h' } }],
      thinking: { type: 'enabled', budget_tokens: 31_999 },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      output_config: { effort: 'high' },
      metadata: { user_id: 'user_a_account__session_b' },
      stream: true,
      temperature: 1,
      tools: [
        { name: 'Bash', description: text, input_schema: { $schema: 'http://json-schema.org', ...schema } },
        { type: 'memory_20250818', name: 'memory' },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text, cache_control: { type: 'ephemeral' } }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: text, signature: 'c2ln' },
            { type: 'redacted_thinking', data: 'ZGF0YQ==' },
            { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { Content: 'a', file_id: 'b' } },
            { type: 'tool_use', id: 'toolu_2', name: 'Bash', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: text, is_error: false },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_2',
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }],
            },
          ],
        },
      ],
    },
  ],
  'Anthropic with citations and search results': [
    'messages',
    {
      max_tokens: 100,
      tool_choice: { type: 'auto', disable_parallel_tool_use: false },
      messages: user(
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: text },
          title: 'a',
          citations: { enabled: true },
        },
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text }] } },
        { type: 'search_result', source: 'https://a', title: 'a', content: [{ type: 'text', text }] },
        { type: 'image', source: { type: 'url', url: 'https://a/b.png' } },
      ),
    },
  ],
  Codex: [
    'responses',
    {
      instructions: text,
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text }] },
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_image', image_url: dataUrl, detail: 'high' }],
        },
        { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'Z0FBQUE=' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'shell', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"output":"a"}' },
        {
          type: 'custom_tool_call',
          call_id: 'call_2',
          name: 'apply_patch',
          input: text,
          status: 'completed',
        },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text }] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ],
      tools: [
        { type: 'function', name: 'shell', description: 'a', strict: false, parameters: schema },
        {
          type: 'custom',
          name: 'apply_patch',
          description: 'a',
          format: { type: 'grammar', definition: text },
        },
        { type: 'local_shell' },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { effort: 'high', summary: 'auto' },
      store: false,
      stream: true,
      include: ['reasoning.encrypted_content'],
      service_tier: 'default',
      prompt_cache_key: '019a',
      text: { verbosity: 'low' },
      client_metadata: { 'x-codex-installation-id': 'a' },
    },
  ],
  'OpenAI Agents': [
    'responses',
    {
      input: [{ role: 'user', content: 'a' }],
      include: [],
      max_output_tokens: 100,
      metadata: { 'User ID': 'a' },
      text: { format: { type: 'json_schema', name: 'final_output', schema, strict: true } },
      tools: [{ type: 'function', name: 'weather', parameters: schema, strict: true }],
      truncation: 'auto',
      prompt_cache_retention: '24h',
      safety_identifier: 'a',
    },
  ],
  LangChain: [
    'chat',
    {
      messages: [
        { role: 'system', content: text },
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url: dataUrl } },
          ],
          name: 'a',
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'b', arguments: '{}' } }],
        },
        { role: 'tool', content: text, tool_call_id: 'a' },
      ],
      temperature: 0.7,
      max_completion_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
      parallel_tool_calls: false,
      stop: ['a'],
      seed: 1,
      logit_bias: { 50256: -100 },
    },
  ],
  'instructor and the Vercel AI SDK': [
    'chat',
    {
      messages: [{ role: 'user', content: 'a' }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
      tools: [
        { type: 'function', function: { name: 'a', description: 'b', parameters: schema, strict: true } },
      ],
      tool_choice: { type: 'function', function: { name: 'a' } },
      max_tokens: 100,
      reasoning_effort: 'low',
      store: true,
      metadata: { a: 'b' },
      user: 'a',
    },
  ],
  'OpenRouter, vLLM, DeepSeek and Gemini': [
    'chat',
    {
      messages: [
        {
          role: 'assistant',
          content: 'a',
          reasoning_content: 'b',
          reasoning_details: [{ type: 'a', data: 'b' }],
        },
      ],
      provider: { order: ['a'], allow_fallbacks: false },
      reasoning: { max_tokens: 100, exclude: true },
      usage: { include: true },
      transforms: [],
      top_k: 10,
      repetition_penalty: 1.1,
      chat_template_kwargs: { enable_thinking: false },
      guided_json: schema,
      thinking: { type: 'disabled' },
      some_new_switch: true,
      some_new_number: 3,
    },
  ],
  'tools that are added by an item': [
    'responses',
    {
      input: [
        { role: 'user', content: 'a' },
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'function', name: 'a', parameters: schema }],
        },
        { type: 'compaction_trigger' },
      ],
    },
  ],
  'tools that are added by a message': [
    'messages',
    {
      messages: user(
        { type: 'text', text: 'a' },
        {
          type: 'tool_addition',
          tool: { type: 'tool_definition', definition: { name: 'a', input_schema: schema } },
        },
        { type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } },
      ),
    },
  ],
  'embeddings of LangChain': [
    'embeddings',
    { input: [[791, 2362], [315]], encoding_format: 'base64', dimensions: 256 },
  ],
};

test.each(Object.entries(ordinary))(
  'nothing of an ordinary request is unseen or rejected: %s',
  (_, [shape, body]) => {
    expect(partsOf(shape, body).unseen).toBeUndefined();
  },
);
