import { expect, test } from 'vitest';
import { parseUsd } from '../money.ts';
import { settledUsage } from './call-end.ts';
import { addUsage, noUsage, runUsageOf } from './call-usage.ts';
import type { Fields } from './fields.ts';
import { callFormats, type FormatName } from './formats.ts';
import type { OutputBound } from './stream-usage.ts';
import { hidesReasoning, isKnownToShow, requestsReasoning } from './visible-output.ts';

const usageOfBody = (name: FormatName, body: unknown) => callFormats[name].response.usageOf(body);
const createStreamUsage = (name: FormatName, boundOf: OutputBound, choices = 1) =>
  callFormats[name].response.readStream(boundOf, choices);

test('usage of chat and of responses counts cached and audio tokens as parts of the input', () => {
  const chat = usageOfBody('chat', {
    service_tier: 'flex',
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 60, audio_tokens: 5 },
      completion_tokens_details: { audio_tokens: 3, reasoning_tokens: 10 },
    },
  });
  expect(chat).toMatchObject({
    inputTokens: 100,
    cachedInputTokens: 60,
    outputTokens: 20,
    serviceTier: 'flex',
  });
  expect(runUsageOf(chat ?? noUsage)).toEqual({
    input_tokens: 100,
    cached_input_tokens: 60,
    cache_write_tokens: 0,
    output_tokens: 20,
    reasoning_tokens: 10,
    audio_input_tokens: 5,
    audio_output_tokens: 3,
    service_tier: 'flex',
  });
  const responses = usageOfBody('responses', {
    usage: { input_tokens: 50, output_tokens: 7, input_tokens_details: { cached_tokens: 10 } },
  });
  expect(responses).toMatchObject({ inputTokens: 50, cachedInputTokens: 10, outputTokens: 7 });
  expect(usageOfBody('embeddings', { usage: { prompt_tokens: 8, total_tokens: 8 } })).toMatchObject({
    inputTokens: 8,
    outputTokens: 0,
  });
});

test.each([
  [{ image_tokens: 323, text_tokens: 48 }, 323],
  [{ image_tokens: 323, cached_tokens: 100 }, 271],
  [{ image_tokens: 9_000 }, 371],
  [{ text_tokens: 371 }, 0],
])('usage with details %j has %i tokens of images that are not cached', (input_tokens_details, images) => {
  const usage = usageOfBody('responses', {
    usage: { input_tokens: 371, output_tokens: 7, input_tokens_details },
  });
  const { image_input_tokens = 0, input_tokens } = runUsageOf(usage ?? noUsage);
  expect([image_input_tokens, input_tokens]).toEqual([images, 371]);
});

test('usage that tells cached images apart has their tokens as a part of the cached ones', () => {
  const usageWith = (cached_tokens_details: object) =>
    runUsageOf(
      usageOfBody('responses', {
        usage: {
          input_tokens: 371,
          output_tokens: 7,
          input_tokens_details: { image_tokens: 323, cached_tokens: 340, cached_tokens_details },
        },
      }) ?? noUsage,
    );
  expect(usageWith({ image_tokens: 300, text_tokens: 40 })).toMatchObject({
    input_tokens: 371,
    cached_input_tokens: 340,
    cached_image_input_tokens: 300,
    image_input_tokens: 23,
  });
  expect(usageWith({ text_tokens: 40 })).not.toHaveProperty('cached_image_input_tokens');
  expect(usageWith({ image_tokens: 900 })).toMatchObject({ cached_image_input_tokens: 323 });
});

const cacheUsage = {
  input_tokens: 10,
  cache_read_input_tokens: 200,
  cache_creation_input_tokens: 50,
  cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
  output_tokens: 4,
  server_tool_use: { web_search_requests: 2 },
  service_tier: 'priority',
};

test('usage of messages adds the cache to the input, and keeps its lifetimes and server tools', () => {
  const messages = usageOfBody('messages', { usage: cacheUsage });
  expect(runUsageOf(messages ?? noUsage)).toEqual({
    input_tokens: 260,
    cached_input_tokens: 200,
    cache_write_tokens: 20,
    cache_write_1h_tokens: 30,
    output_tokens: 4,
    service_tier: 'priority',
    units: { web_search: 2 },
  });
  const odd = usageOfBody('messages', { usage: { ...cacheUsage, service_tier: 'Not a tier' } });
  expect(runUsageOf(odd ?? noUsage)).not.toHaveProperty('service_tier');
  expect(messages).toMatchObject({
    inputTokens: 260,
    cachedInputTokens: 200,
    cacheWriteTokens: 50,
    cacheWrite1hTokens: 30,
    outputTokens: 4,
    serverTools: { web_search: 2 },
    serviceTier: 'priority',
  });
});

test('a stream of messages has its input from the start and its output from the last delta', () => {
  const usage = createStreamUsage('messages', (text) => text.length);
  const read = (value: Fields) => usage.read(value);
  read({ type: 'message_start', message: { usage: { ...cacheUsage, output_tokens: 1 } } });
  expect(usage.isFinal).toBe(false);
  read({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'hello' } });
  read({ type: 'message_delta', usage: { output_tokens: 12 } });
  read({ type: 'message_delta', usage: { output_tokens: 30, server_tool_use: { web_search_requests: 3 } } });
  expect(usage.isFinal).toBe(true);
  expect(usage.usage()).toMatchObject({
    inputTokens: 260,
    cachedInputTokens: 200,
    outputTokens: 30,
    serverTools: { web_search: 3 },
  });
});

test('usage of a chat that each chunk reports is final only once the output has ended', () => {
  const usage = createStreamUsage('chat', (text) => text.length);
  const chunk = (tokens: number, reason: string | null) =>
    usage.read({
      choices: [{ index: 0, delta: { content: 'x' }, finish_reason: reason }],
      usage: { prompt_tokens: 3, completion_tokens: tokens },
    });
  expect(chunk(1, null)).toBe(false);
  expect([usage.isFinal, usage.usage()?.outputTokens]).toEqual([false, 1]);
  chunk(2, 'stop');
  expect([usage.isFinal, usage.usage()?.outputTokens]).toEqual([true, 2]);
});

test('a chat with several answers is final once each has ended, and its tier may be in its first chunk alone', () => {
  const usage = createStreamUsage('chat', (text) => text.length, 2);
  const chunk = (index: number, reason: string | null) =>
    usage.read({
      choices: [{ index, delta: { content: 'x' }, finish_reason: reason }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    });
  usage.read({ service_tier: 'priority', choices: [] });
  chunk(0, 'stop');
  expect(usage.isFinal).toBe(false);
  chunk(1, 'length');
  expect([usage.isFinal, usage.usage()?.serviceTier]).toEqual([true, 'priority']);
});

test.each([['many'], ['-1'], ['1e3'], [null], [-1], [undefined], [1e300], [Number.NaN]])(
  'usage with the count %j cannot be read, so that an upper bound is charged instead of nothing',
  (count) => {
    for (const [input, output] of [
      [count, 5],
      [5, count],
    ]) {
      const openAi = { prompt_tokens: input, completion_tokens: output, total_tokens: count };
      expect(usageOfBody('chat', { usage: openAi })).toBeUndefined();
      const others = { usage: { input_tokens: input, output_tokens: output } };
      expect(usageOfBody('responses', others)).toBeUndefined();
      expect(usageOfBody('messages', others)).toBeUndefined();
    }
  },
);

test('output that only the total contains is charged, as reasoning of Gemini is', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 11, total_tokens: 1_037 };
  expect(usageOfBody('chat', { usage })?.outputTokens).toBe(1_030);
  expect(usageOfBody('chat', { usage: { ...usage, completion_tokens: null } })?.outputTokens).toBe(1_030);
  expect(usageOfBody('chat', { usage: { ...usage, total_tokens: 10 } })?.outputTokens).toBe(11);
});

test.each<[string, FormatName, object, [number, number]]>([
  ['counts as texts', 'chat', { prompt_tokens: '20', completion_tokens: '3.5' }, [20, 4]],
  ['names of the Responses API', 'chat', { input_tokens: 20, output_tokens: 3 }, [20, 3]],
  ['names of chats', 'responses', { prompt_tokens: 20, completion_tokens: 3 }, [20, 3]],
  [
    'reasoning beside the output',
    'chat',
    { prompt_tokens: 20, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: 50 } },
    [20, 53],
  ],
  [
    'reasoning beside the output, in its own total',
    'chat',
    {
      prompt_tokens: 20,
      completion_tokens: 3,
      total_tokens: 73,
      completion_tokens_details: { reasoning_tokens: 50 },
    },
    [20, 53],
  ],
  [
    'a total without the reasoning, of which one token too many is reported',
    'chat',
    {
      prompt_tokens: 43,
      completion_tokens: 10,
      total_tokens: 53,
      completion_tokens_details: { reasoning_tokens: 11 },
    },
    [43, 10],
  ],
  ['a larger total', 'responses', { input_tokens: 20, output_tokens: 3, total_tokens: 100 }, [20, 80]],
  [
    'both names, of which one is 0',
    'responses',
    {
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      completion_tokens_details: { reasoning_tokens: 0 },
      input_tokens: 20,
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 50 },
    },
    [20, 53],
  ],
  [
    'both names, of which the other is 0',
    'chat',
    { prompt_tokens: 20, input_tokens: 0, completion_tokens: 3 },
    [20, 3],
  ],
  [
    'cache writes by their lifetime alone',
    'messages',
    {
      input_tokens: 20,
      output_tokens: 3,
      cache_creation: { ephemeral_1h_input_tokens: 7, ephemeral_5m_input_tokens: 5 },
    },
    [32, 3],
  ],
])('what was reported is charged: %s', (_, shape, usage, [inputTokens, outputTokens]) => {
  expect(usageOfBody(shape, { usage })).toMatchObject({ inputTokens, outputTokens });
});

test.each<[string, object, object]>([
  ['Mistral', { prompt_tokens: 64, completion_tokens: 6, num_cached_tokens: 32 }, { cachedInputTokens: 32 }],
  [
    'Mistral, in details of another name',
    { prompt_tokens: 64, completion_tokens: 6, prompt_token_details: { cached_tokens: 32 } },
    { cachedInputTokens: 32 },
  ],
  ['Moonshot', { prompt_tokens: 20, completion_tokens: 30, cached_tokens: 10 }, { cachedInputTokens: 10 }],
  [
    'DeepSeek',
    {
      prompt_tokens: 563,
      completion_tokens: 116,
      prompt_cache_hit_tokens: 512,
      prompt_cache_miss_tokens: 51,
    },
    { cachedInputTokens: 512 },
  ],
  [
    'Alibaba',
    {
      prompt_tokens: 2_000,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 1_900 },
    },
    { cacheWriteTokens: 1_900 },
  ],
  [
    'Gemini at OpenRouter, which counts tokens as written and read',
    {
      prompt_tokens: 2_168,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 2_161, cache_write_tokens: 2_161 },
    },
    { cachedInputTokens: 2_161, cacheWriteTokens: 7 },
  ],
])('tokens of a cache are charged as such, and each once: %s', (_, usage, expected) => {
  const reported = usageOfBody('chat', { usage }) ?? noUsage;
  expect(reported).toMatchObject(expected);
  expect(runUsageOf(reported).input_tokens).toBe((usage as { prompt_tokens: number }).prompt_tokens);
});

test('the total of an embedding is its input if nothing else is reported', () => {
  expect(usageOfBody('embeddings', { usage: { total_tokens: 3 } })).toMatchObject({
    inputTokens: 3,
    outputTokens: 0,
  });
  expect(usageOfBody('chat', { usage: { total_tokens: 3 } })).toBeUndefined();
});

test('usage that Groq sends in a member of its own is read, with the end of the stream', () => {
  const stream = createStreamUsage('chat', (text) => text.length);
  stream.read({ x_groq: { id: 'req_1' }, choices: [{ index: 0, delta: { content: 'hi' } }] });
  const usage = { prompt_tokens: 45, completion_tokens: 662, prompt_time: 0.004 };
  const isUsageChunk = stream.read({
    x_groq: { id: 'req_1', usage },
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
  });
  expect([isUsageChunk, stream.isFinal]).toEqual([false, true]);
  expect(stream.usage()).toMatchObject({ inputTokens: 45, outputTokens: 662 });
});

test.each<[string, object, bigint | null]>([
  ['OpenRouter', { cost: 0.00435825, is_byok: false }, 4_358_250n],
  ['OpenRouter, with an error of its sum', { cost: 0.0076509169000000005 }, 7_650_917n],
  ['OpenRouter, rounded up', { cost: 0.0004970133333333333 }, 497_014n],
  ['a free model of OpenRouter', { cost: 0, is_byok: false }, 0n],
  [
    'the provider behind OpenRouter',
    { cost: 0, is_byok: true, cost_details: { upstream_inference_cost: 0.0003253 } },
    325_300n,
  ],
  [
    'OpenRouter, with a fee, and the provider behind it',
    { cost: 0.00001, is_byok: true, cost_details: { upstream_inference_cost: 0.0002 } },
    210_000n,
  ],
  ['xAI', { cost_in_usd_ticks: 1_466_251 }, 146_626n],
  ['Perplexity', { cost: { input_tokens_cost: 0.001, total_cost: 0.006 } }, 6_000_000n],
  [
    'OpenRouter for a key of its user, without saying so',
    { cost: 0.00001, cost_details: { upstream_inference_cost: 0.0002 } },
    210_000n,
  ],
  [
    'the whole cost, with its parts',
    { cost: 0.0002, cost_details: { upstream_inference_cost: 0.0002 } },
    200_000n,
  ],
  ['xAI, for an expensive call', { cost_in_usd_ticks: 25_000_000_001 }, 2_500_000_001n],
  ['a router with less than a nanodollar', { cost: 1e-13 }, 1n],
  ['a router that knows no price', { cost: 0 }, null],
  ['a router that subtracts', { cost: -0, is_byok: true }, null],
  ['no provider', { cost: -1, cost_in_usd_ticks: 'many' }, null],
  ['a router that errs', { cost: 1e300 }, null],
  [
    'a router with a number beyond all others',
    JSON.parse('{"cost": 1e400, "cost_in_usd_ticks": 1e400}'),
    null,
  ],
  ['a router with negative ticks', { cost_in_usd_ticks: -10 }, null],
  ['a router with a part of a tick', { cost_in_usd_ticks: 0.5 }, null],
  ['a text', { cost: '0.5', is_byok: false }, null],
  ['a list', { cost: [0.5] }, null],
  ['an object in an object', { cost: { total_cost: { total_cost: 1 } } }, null],
  ['a refund', { cost: { total_cost: -0.5 } }, null],
  ['a fee without a cost', { cost: 0.01, is_byok: true }, null],
])('a cost that %s states is posted', (_, stated, nanos) => {
  const usage = { prompt_tokens: 5, completion_tokens: 6, ...stated };
  expect(usageOfBody('chat', { usage })?.statedNanos).toBe(nanos);
  const { stated_cost_usd } = runUsageOf(usageOfBody('chat', { usage }) ?? noUsage);
  expect(stated_cost_usd === undefined ? null : parseUsd(stated_cost_usd)).toBe(nanos);
});

test('a cost that is stated before the end of a stream is not that of the call', () => {
  const usage = { ...noUsage, inputTokens: 5, outputTokens: 6, statedNanos: 10n };
  const { fields } = settledUsage({ ...received, status: 'failed', usage }, bounds, none);
  expect(fields.stated_cost_usd).toBeUndefined();
});

test.each(['server_tool_use', 'server_tool_use_details'])(
  'searches that a router reports for a chat in %s are charged',
  (name) => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, [name]: { web_search_requests: 3 } };
    expect(usageOfBody('chat', { usage })?.serverTools).toEqual({ web_search: 3 });
  },
);

test('input and output that different events of a stream report are both charged', () => {
  const stream = createStreamUsage('chat', () => 0);
  stream.read({ choices: [], usage: { prompt_tokens: 400, completion_tokens: 0 } });
  stream.read({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 200 } });
  expect(stream.usage()).toMatchObject({ inputTokens: 400, outputTokens: 200 });
});

test('tokens that OpenAI writes to its cache have the rate of cache writes', () => {
  const details = { cached_tokens: 10, cache_write_tokens: 90 };
  const chat = { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: details };
  const responses = { input_tokens: 100, output_tokens: 1, input_tokens_details: details };
  for (const usage of [
    usageOfBody('chat', { usage: chat }),
    usageOfBody('responses', { usage: responses }),
  ]) {
    expect(runUsageOf(usage ?? noUsage)).toMatchObject({
      input_tokens: 100,
      cached_input_tokens: 10,
      cache_write_tokens: 90,
    });
  }
});

test('the fast mode is a tier, the place of inference a region, and compactions are added', () => {
  const compaction = {
    type: 'compaction',
    input_tokens: 180,
    cache_read_input_tokens: 20,
    output_tokens: 35,
  };
  const usage = {
    input_tokens: 23,
    output_tokens: 10,
    service_tier: 'standard',
    speed: 'fast',
    inference_geo: 'us',
    iterations: [{ type: 'message', input_tokens: 23, output_tokens: 10 }, compaction],
  };
  expect(runUsageOf(usageOfBody('messages', { usage }) ?? noUsage)).toEqual({
    input_tokens: 223,
    cached_input_tokens: 20,
    cache_write_tokens: 0,
    output_tokens: 45,
    service_tier: 'fast',
    region: 'us',
  });
});

test('a stream whose context was compacted has the counts of its iterations, each once', () => {
  const compaction = {
    type: 'compaction',
    input_tokens: 100,
    cache_read_input_tokens: 55_096,
    output_tokens: 83,
  };
  const message = { type: 'message', input_tokens: 181, output_tokens: 8 };
  const stream = createStreamUsage('messages', (text) => text.length);
  const start = { input_tokens: 100, cache_read_input_tokens: 55_096, output_tokens: 7 };
  stream.read({ type: 'message_start', message: { usage: start } });
  stream.read({
    type: 'message_delta',
    usage: {
      input_tokens: 181,
      cache_read_input_tokens: 0,
      output_tokens: 8,
      iterations: [compaction, message],
    },
  });
  expect(stream.isFinal).toBe(true);
  expect(stream.usage()).toMatchObject({
    inputTokens: 55_377,
    cachedInputTokens: 55_096,
    outputTokens: 91,
  });
});

test('the fallback that has answered is charged, and what was declined before its output is not', () => {
  const answered = { input_tokens: 412, output_tokens: 264 };
  const declined = { type: 'message', model: 'claude-fable-5', input_tokens: 408, output_tokens: 0 };
  const fallback = { type: 'fallback_message', model: 'claude-opus-4-8', ...answered };
  const fields = (iterations: object[]) =>
    runUsageOf(usageOfBody('messages', { usage: { ...answered, iterations } }) ?? noUsage);
  const alone = fields([declined, fallback]);
  expect(alone).toMatchObject(answered);
  expect(alone.other_models).toBeUndefined();
  // Part of its output was sent before it was declined.
  expect(fields([{ ...declined, output_tokens: 5 }, fallback])).toMatchObject({
    input_tokens: 820,
    output_tokens: 269,
    other_models: [{ model: 'claude-fable-5', input_tokens: 408, output_tokens: 5 }],
  });
});

test('thinking of an iteration that exceeds its output is limited to it, so that no model has more than the call', () => {
  const advice = {
    ...{ type: 'advisor_message', model: 'claude-wise', input_tokens: 8, output_tokens: 5 },
    output_tokens_details: { thinking_tokens: 50 },
  };
  const own = { input_tokens: 4, output_tokens: 10, output_tokens_details: { thinking_tokens: 3 } };
  const usage = { ...own, iterations: [{ type: 'message', ...own }, advice] };
  expect(runUsageOf(usageOfBody('messages', { usage }) ?? noUsage)).toMatchObject({
    output_tokens: 15,
    reasoning_tokens: 8,
    other_models: [{ model: 'claude-wise', output_tokens: 5, reasoning_tokens: 5 }],
  });
});

test('the tokens of advisors are counted, and named by model', () => {
  const own = { input_tokens: 10, output_tokens: 20 };
  const advice = { type: 'advisor_message', model: 'claude-wise', input_tokens: 8, output_tokens: 16 };
  const cached = { ...advice, cache_read_input_tokens: 100 };
  const usage = { ...own, iterations: [{ type: 'message', ...own }, advice, cached] };
  expect(runUsageOf(usageOfBody('messages', { usage }) ?? noUsage)).toMatchObject({
    input_tokens: 126,
    cached_input_tokens: 100,
    output_tokens: 52,
    other_models: [{ model: 'claude-wise', input_tokens: 116, cached_input_tokens: 100, output_tokens: 32 }],
  });
});

test('thoughts of Claude are a part of its output', () => {
  const usage = { input_tokens: 3, output_tokens: 20, output_tokens_details: { thinking_tokens: 15 } };
  expect(runUsageOf(usageOfBody('messages', { usage }) ?? noUsage)).toMatchObject({
    output_tokens: 20,
    reasoning_tokens: 15,
  });
});

test('pages that Anthropic fetches are free, and searches are not', () => {
  const server_tool_use = { web_search_requests: 0, web_fetch_requests: 1 };
  const usage = { input_tokens: 3, output_tokens: 2, server_tool_use };
  expect(usageOfBody('messages', { usage })?.serverTools).toEqual({});
});

const searches = [
  { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
  { type: 'web_search_call', status: 'completed' },
  { type: 'web_search_call', status: 'completed', action: { type: 'open_page' } },
  { type: 'web_search_call', status: 'failed', action: { type: 'search' } },
  { type: 'message' },
];
const answered = { input_tokens: 5, output_tokens: 6 };

test('searches of a response are counted, in a stream also before its end', () => {
  const body = { usage: answered, output: searches };
  expect(usageOfBody('responses', body)?.serverTools).toEqual({ web_search: 2 });
  const usage = createStreamUsage('responses', (text) => text.length);
  for (const item of searches) {
    usage.read({ type: 'response.output_item.done', item });
  }
  expect([usage.serverTools, usage.usage()]).toEqual([{ web_search: 2 }, undefined]);
  usage.read({ type: 'response.completed', response: { usage: answered, output: [] } });
  expect(usage.usage()?.serverTools).toEqual({ web_search: 2 });
});

test.each([
  ['gpt-4o-search-preview-2025-03-11', { web_search: 1 }],
  ['openai/gpt-4o-mini-search-preview', { web_search: 1 }],
  ['gpt-5-search-api', { web_search: 1 }],
  ['gpt-4o', {}],
  ['my-search-preview', {}],
])('a chat with %s has the searches %j', (model, serverTools) => {
  const reported = { prompt_tokens: 5, completion_tokens: 6 };
  expect(usageOfBody('chat', { model, usage: reported })?.serverTools).toEqual(serverTools);
  const usage = createStreamUsage('chat', (text) => text.length);
  usage.read({ model, choices: [] });
  usage.read({ model, choices: [], usage: reported });
  expect(usage.usage()?.serverTools).toEqual(serverTools);
});

test('a stream that breaks off after a search is charged for it, and for the input that it has added', () => {
  const usage = createStreamUsage('messages', (text) => text.length);
  usage.read({ type: 'message_start', message: { usage: { input_tokens: 40, output_tokens: 1 } } });
  usage.read({ type: 'content_block_start', content_block: { type: 'server_tool_use', name: 'web_search' } });
  usage.read({ type: 'message_delta', delta: { stop_reason: 'end_turn' } });
  expect(usage.isFinal).toBe(false);
  const outcome = {
    ...received,
    status: 'failed',
    usage: usage.usage(),
    serverTools: usage.serverTools,
  } as const;
  const { fields } = settledUsage(outcome, { ...bounds, inputGrows: true }, none);
  expect(fields).toMatchObject({ input_tokens: 500, units: { web_search: 1 } });
  expect(settledUsage(outcome, bounds, none).fields.input_tokens).toBe(40);
});

test('a search that each call makes is charged, whatever model the response names', () => {
  const search = { ...bounds, serverTools: { web_search: 1 } };
  const final = { ...received, status: 'succeeded', usage: noUsage, isFinal: true } as const;
  expect(settledUsage(final, search, none).fields.units).toEqual({ web_search: 1 });
  const rejected = { ...received, status: 'failed', isAccepted: false } as const;
  expect(settledUsage(rejected, search, none).fields.units).toBeUndefined();
});

const bounds = { inputTokens: 500, maxOutputTokens: 1_000 };
const none = { attempts: [], isEstimated: false };
const received = { usage: undefined, isFinal: false, outputBound: 100, isAccepted: true } as const;

test('without a report the usage is an upper bound of what was received, and marked', () => {
  const bounded = settledUsage({ status: 'cancelled', ...received }, bounds, none);
  expect(bounded.fields).toMatchObject({ input_tokens: 500, output_tokens: 612 });
  expect(bounded.marks).toEqual(['usage_estimated']);
  const long = settledUsage({ status: 'cancelled', ...received, outputBound: 9_000 }, bounds, none);
  expect(long.fields.output_tokens).toBe(1_000);
});

test('a usage of 0 for output that was received is taken for none, and for a response without output it is not', () => {
  const final = { ...received, status: 'succeeded', usage: noUsage, isFinal: true } as const;
  const answered = settledUsage({ ...final, receivedBytes: 100 }, bounds, none);
  expect(answered.fields).toMatchObject({ input_tokens: 500, output_tokens: 612 });
  expect(answered.marks).toEqual(['usage_estimated']);
  const empty = settledUsage(final, bounds, none);
  expect([empty.isFree, empty.marks]).toEqual([true, []]);
});

test('a usage that counts no output for output that was received gives only the input, unless it states the cost', () => {
  const usage = { ...noUsage, inputTokens: 20 };
  const final = { ...received, status: 'succeeded', usage, isFinal: true, receivedBytes: 100 } as const;
  const answered = settledUsage(final, bounds, none);
  expect(answered.fields).toMatchObject({ input_tokens: 20, output_tokens: 612 });
  expect(answered.marks).toEqual(['usage_estimated']);
  const stated = settledUsage({ ...final, usage: { ...usage, statedNanos: 5n } }, bounds, none);
  expect([stated.fields.output_tokens, stated.marks]).toEqual([0, []]);
});

test('a call that the provider did not accept is free, except for attempts that reported usage', () => {
  const free = settledUsage({ status: 'failed', ...received, isAccepted: false }, bounds, none);
  expect([free.isFree, free.fields.input_tokens]).toEqual([true, 0]);
  const attempt = { ...noUsage, inputTokens: 7, outputTokens: 2 };
  const paid = settledUsage({ status: 'failed', ...received, isAccepted: false }, bounds, {
    attempts: [attempt],
    isEstimated: false,
  });
  expect([paid.isFree, paid.fields.input_tokens, paid.fields.output_tokens]).toEqual([false, 7, 2]);
  expect(addUsage(attempt, attempt)).toMatchObject({ inputTokens: 14, outputTokens: 4 });
});

test('an answer of unknown length is bounded by the maximum, and an unanswered attempt marks the call', () => {
  const unknown = { ...received, outputBound: Number.POSITIVE_INFINITY };
  expect(settledUsage({ status: 'failed', ...unknown }, bounds, none).fields.output_tokens).toBe(1_000);
  const usage = { ...noUsage, inputTokens: 500, outputTokens: 1_000 };
  const whole = {
    status: 'succeeded',
    ...unknown,
    usage: { ...noUsage, inputTokens: 3 },
    isFinal: true,
  } as const;
  const settled = settledUsage(whole, bounds, { attempts: [usage], isEstimated: true });
  expect([settled.fields.input_tokens, settled.fields.output_tokens]).toEqual([503, 1_000]);
  expect(settled.attempts?.map(({ input_tokens }) => input_tokens)).toEqual([500, 3]);
  expect(settled.marks).toEqual(['usage_estimated']);
});

test.each([
  ['gpt-4o', true, false],
  ['azure/gpt-4o-2024-08-06', true, false],
  ['gpt-35-turbo', true, false],
  ['ft:gpt-4o-mini-2024-07-18:org', true, false],
  ['claude-sonnet-4-5', true, false],
  ['gemini-2.0-flash', true, false],
  ['meta-llama/Llama-3.3-70B', true, false],
  ['o3-mini', false, true],
  ['openai/gpt-5.1', false, true],
  ['prod-gpt-5-mini', false, true],
  ['ft:o4-mini-2025-04-16:org', false, true],
  ['gemini-2.5-flash', false, true],
  ['grok-4', false, true],
  ['team-chat', false, false],
  ['foo1', false, false],
])('the name %s: shows its output %s, hides its reasoning %s', (model, isShown, isHidden) => {
  expect([isKnownToShow(model), hidesReasoning(model)]).toEqual([isShown, isHidden]);
});

test.each([
  [{}, false],
  [{ thinking: { type: 'disabled' }, reasoning_effort: 'none', reasoning: { effort: 'none' } }, false],
  [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, true],
  [{ thinking: { type: 'adaptive' } }, true],
  [{ reasoning_effort: 'minimal' }, true],
  [{ reasoning: { summary: 'auto' } }, true],
])('the body %j requests reasoning: %s', (body, isRequested) => {
  expect(requestsReasoning(body)).toBe(isRequested);
});
