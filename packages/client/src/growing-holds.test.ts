/** `hold` of `wrap`: calls of a provider that bills all that it has generated, shown or not, and for a while after its client has left. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { useGatewayWorld } from '../../../test/support/gateway-world.ts';
import { isSoak } from '../../../test/support/rounds.ts';
import { errorOf } from '../../../test/support/sdk-calls.ts';
import { startTimedProvider, type TimedProvider } from '../../../test/support/timed-provider.ts';
import { createPurser, type Purser, type WrapOptions } from './node.ts';

const gateway = useGatewayWorld();
let provider: TimedProvider;
let purser: Purser;

/** A long lead, so that a busy machine is never later than it. At first, such a hold covers 5,000 tokens, which cost $0.05. */
const paced: WrapOptions = {
  hold: 'paced',
  holdLeadMs: 6_000,
  pace: { burstTokensPerSecond: 1_500, burstTokens: 2_000, sustainedTokensPerSecond: 500 },
};
const maxTokens = 128_000;
const question = 'Say hello to the world';

beforeAll(async () => {
  provider = await startTimedProvider();
  const { secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']);
  // No test is about its duration.
  purser = createPurser({ url: gateway.url, key, timeoutMs: 600_000, requestTimeoutMs: 600_000 });
});
afterAll(() => provider.close());
beforeEach(async () => {
  Object.assign(provider, { perSecond: 300, hiddenTokens: 300, hasHead: true, noticesAfterMs: 0 });
  provider.requests.length = 0;
  provider.bill.length = 0;
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
});
afterEach(ended);

/** Waits until every call is charged. */
async function ended(): Promise<void> {
  await purser.flush();
  await eventually(async () => expect(await gateway.holds()).toBe(0));
}

const openai = (options: WrapOptions = paced) =>
  purser.wrap(new OpenAI({ baseURL: `${provider.url}/v1`, apiKey: 'sk-own' }), options);
const anthropic = (options: WrapOptions = paced) =>
  purser.wrap(new Anthropic({ baseURL: provider.url, apiKey: 'sk-own' }), options);

async function eventsOf(stream: AsyncIterable<object>): Promise<string> {
  const events: object[] = [];
  for await (const event of stream) {
    events.push(event);
  }
  return JSON.stringify(events);
}

const formats = [
  {
    api: 'chat completions',
    end: /"finish_reason":"stop"/,
    cut: /"finish_reason":"length"/,
    stream: async () =>
      openai().chat.completions.create({
        model: 'gpt-test',
        max_completion_tokens: maxTokens,
        reasoning_effort: 'high',
        messages: [{ role: 'user', content: question }],
        stream: true,
      }),
  },
  {
    api: 'responses',
    end: /"type":"response.completed"/,
    cut: /"type":"response.incomplete".*"reason":"max_output_tokens"/,
    stream: async () =>
      openai().responses.create({
        model: 'gpt-test',
        max_output_tokens: maxTokens,
        reasoning: { effort: 'high' },
        input: question,
        stream: true,
      }),
  },
  {
    api: 'messages',
    end: /"stop_reason":"end_turn"/,
    // Reasoning without its signature cannot be a part of later requests.
    cut: /"billing_error".*"hold_denied"/,
    stream: async () =>
      anthropic().messages.create({
        model: 'claude-test',
        max_tokens: maxTokens,
        thinking: { type: 'enabled', budget_tokens: 100_000 },
        messages: [{ role: 'user', content: question }],
        stream: true,
      }),
  },
];

/** The gateway has the same with each format. */
const tested = isSoak ? formats : formats.slice(-1);

describe.each(tested)('hold: paced, $api', ({ end, cut, stream }) => {
  test('a stream whose worst case exceeds the limit 12 times is allowed, and charged exactly', async () => {
    await gateway.capAbove(0.1);
    expect(await eventsOf(await stream())).toMatch(end);
    await ended();
    expect((await gateway.runs())[0]).toMatchObject({ output_tokens: 300, status: 'succeeded', marks: [] });
  });

  test('a stream whose hold cannot grow is ended, and is charged all that the provider bills', async () => {
    Object.assign(provider, { hiddenTokens: 100_000, noticesAfterMs: 1_000 });
    await gateway.capAbove(0.07);
    const capNanos = (await gateway.spentNanos()) + 70_000_000n;
    const text = await eventsOf(await stream()).catch(({ error }) => JSON.stringify(error));
    expect(text).toMatch(cut);
    await ended();
    const [run] = await gateway.runs();
    expect(run).toMatchObject({ metadata: { truncated: true, usage_estimated: true } });
    expect(run?.output_tokens).toBeGreaterThan(2_000);
    await new Promise((resolve) => setTimeout(resolve, provider.noticesAfterMs));
    expect(run?.output_tokens).toBeGreaterThanOrEqual(provider.bill[0]?.() ?? Number.POSITIVE_INFINITY);
    expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
  });

  test('a stream of which nothing has arrived ends with an error of status 402', async () => {
    Object.assign(provider, { hiddenTokens: 100_000, hasHead: false });
    await gateway.capAbove(0.07);
    const capNanos = (await gateway.spentNanos()) + 70_000_000n;
    const error = await errorOf(stream());
    expect(error.status).toBe(402);
    expect(JSON.stringify(error.error)).toContain('hold_denied');
    expect(provider.requests).toHaveLength(1);
    await ended();
    const [run] = await gateway.runs();
    expect(run).toMatchObject({ status: 'failed', metadata: { usage_estimated: true } });
    expect(run?.output_tokens).toBeGreaterThanOrEqual(provider.bill[0]?.() ?? Number.POSITIVE_INFINITY);
    expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
  });
});

test('twenty paced streams fit into a limit that the worst case of one exceeds, and never exceed it', async () => {
  provider.hiddenTokens = 100;
  await gateway.capAbove(1.2);
  const capNanos = (await gateway.spentNanos()) + 1_200_000_000n;
  const { stream, end } = formats[2] as (typeof formats)[number];
  for (const text of await Promise.all(Array.from({ length: 20 }, async () => eventsOf(await stream())))) {
    expect(text).toMatch(end);
  }
  await ended();
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
});

const plainCall = {
  model: 'claude-test',
  max_tokens: 20_000,
  messages: [{ role: 'user' as const, content: question }],
};

test('a paced call that is not streamed gets the maximum that all limits allow, unless the option refuses that', async () => {
  await gateway.capAbove(0.05);
  const refused = await errorOf(anthropic({ ...paced, onLimit: 'refuse' }).messages.create(plainCall));
  expect(refused.status).toBe(402);
  await anthropic().messages.create(plainCall);
  expect(provider.requests[0]?.max_tokens).toBeLessThan(5_000);
  await ended();
  expect((await gateway.runs())[0]).toMatchObject({ output_tokens: 300, metadata: {} });
});

/** The SDKs of the providers themselves, whose requests get to the stand-in. */
const asProviders = (options: WrapOptions) => {
  const send = (input: string | URL | Request, init?: RequestInit) =>
    fetch(String(input).replace(/^https:\/\/api\.\w+\.com/, provider.url), init);
  return {
    openai: (wraps: boolean) => {
      const sdk = new OpenAI({
        apiKey: 'sk-own',
        fetch: send,
        maxRetries: 0,
        baseURL: 'https://api.openai.com/v1',
      });
      return wraps ? purser.wrap(sdk, options) : sdk;
    },
    anthropic: (wraps: boolean) => {
      const sdk = new Anthropic({
        apiKey: 'sk-own',
        fetch: send,
        maxRetries: 0,
        baseURL: 'https://api.anthropic.com',
      });
      return wraps ? purser.wrap(sdk, options) : sdk;
    },
  };
};

test('plainCalls: streamed gives plain calls the responses of plain calls, and their holds follow them', async () => {
  const { openai, anthropic } = asProviders({ ...paced, plainCalls: 'streamed' });
  const plainCalls = [
    (wraps: boolean) =>
      openai(wraps).chat.completions.create({
        model: 'gpt-test',
        max_completion_tokens: maxTokens,
        messages: [{ role: 'user', content: question }],
      }),
    (wraps: boolean) =>
      openai(wraps).responses.create({ model: 'gpt-test', max_output_tokens: maxTokens, input: question }),
    (wraps: boolean) => anthropic(wraps).messages.create({ ...plainCall, thinking: { type: 'disabled' } }),
  ];
  for (const call of plainCalls) {
    const provided = await call(false);
    provider.requests.length = 0;
    gateway.world.clock.advanceSeconds(1);
    await gateway.capAbove(0.1);
    expect(await call(true)).toEqual(provided);
    expect(provider.requests.map(({ stream }) => stream)).toEqual([true]);
    await ended();
    expect((await gateway.runs())[0]).toMatchObject({ output_tokens: 300, metadata: {} });
  }
});

test('hold: worst_case, a stream whose reader leaves is charged what the provider has collected', async () => {
  Object.assign(provider, { hiddenTokens: 100_000 });
  const abort = new AbortController();
  const sdk = anthropic({ ...paced, hold: 'worst_case', onAbort: 'close' });
  const body = { ...plainCall, thinking: { type: 'disabled' as const }, max_tokens: maxTokens };
  await gateway.capAbove(5);
  const stream = await sdk.messages.create({ ...body, stream: true }, { signal: abort.signal });
  const read = eventsOf(stream).catch(() => undefined);
  await eventually(() => expect(provider.bill[0]?.()).toBeGreaterThan(700));
  abort.abort();
  await read;
  await ended();
  const [run] = await gateway.runs();
  expect(run).toMatchObject({ status: 'cancelled', metadata: { usage_estimated: true } });
  expect(run?.output_tokens).toBeGreaterThanOrEqual(provider.bill[0]?.() ?? Number.POSITIVE_INFINITY);
  expect(run?.output_tokens).toBeLessThan(maxTokens);
});

test('hold: expected holds the usual output once it is known, and more while the stream is longer', async () => {
  Object.assign(provider, { perSecond: 100_000, hiddenTokens: 20 });
  const sdk = anthropic({ hold: 'expected' });
  const call = () => sdk.messages.create({ ...plainCall, max_tokens: 100_000, stream: true });
  for (let calls = 0; calls < 20; calls += 1) {
    await eventsOf(await call());
  }
  await ended();
  await gateway.capAbove(0.01);
  expect(await eventsOf(await call())).toContain('end_turn');
  await ended();
  expect((await gateway.runs())[0]).toMatchObject({ output_tokens: 20, metadata: {} });
});
