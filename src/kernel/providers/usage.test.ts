import { expect, test } from 'vitest';
import { settledUsage } from './call-end.ts';
import { addUsage, type Fields, noUsage, runUsageOf, usageOfBody } from './call-usage.ts';
import { createStreamUsage } from './stream-usage.ts';
import { hidesReasoning, isKnownToShow, requestsReasoning } from './visible-output.ts';

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

test('a report that is not a usage report is no usage', () => {
  for (const body of [
    undefined,
    null,
    'x',
    {},
    { usage: null },
    { usage: {} },
    { usage: { prompt_tokens: -1 } },
  ]) {
    expect(usageOfBody('chat', body)?.inputTokens ?? 0).toBe(0);
    expect(usageOfBody('messages', body)).toBeUndefined();
  }
});

const bounds = { inputTokens: 500, maxOutputTokens: 1_000 };
const none = { usage: noUsage, isEstimated: false };
const received = { usage: undefined, isFinal: false, outputBound: 100, isAccepted: true } as const;

test('without a report the usage is an upper bound of what was received, and marked', () => {
  const bounded = settledUsage({ status: 'cancelled', ...received }, bounds, none);
  expect(bounded.fields).toMatchObject({ input_tokens: 500, output_tokens: 612 });
  expect(bounded.marks).toEqual(['usage_estimated']);
  const long = settledUsage({ status: 'cancelled', ...received, outputBound: 9_000 }, bounds, none);
  expect(long.fields.output_tokens).toBe(1_000);
});

test('a call that the provider did not accept is free, except for attempts that reported usage', () => {
  const free = settledUsage({ status: 'failed', ...received, isAccepted: false }, bounds, none);
  expect([free.isFree, free.fields.input_tokens]).toEqual([true, 0]);
  const attempt = { ...noUsage, inputTokens: 7, outputTokens: 2 };
  const paid = settledUsage({ status: 'failed', ...received, isAccepted: false }, bounds, {
    usage: attempt,
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
  const settled = settledUsage(whole, bounds, { usage, isEstimated: true });
  expect([settled.fields.input_tokens, settled.fields.output_tokens]).toEqual([503, 1_000]);
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

test.each([
  ['chat', { model: 'gpt-5-mini-2025-08-07', choices: [] }],
  ['responses', { type: 'response.created', response: { id: 'resp_1', model: 'o3' } }],
  ['messages', { type: 'message_start', message: { id: 'msg_1', model: 'openai/gpt-5' } }],
] as const)('a stream of %s that names a model with hidden reasoning says so', (shape, event) => {
  const usage = createStreamUsage(shape, (text) => text.length);
  usage.read({});
  expect(usage.isReasoningHidden).toBe(false);
  usage.read(event);
  expect(usage.isReasoningHidden).toBe(true);
});
