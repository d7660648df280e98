/** `plain_calls: streamed`: calls that are not streamed get the responses of plain calls from streams, and their holds follow them. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import {
  connectionTo,
  expectBilled,
  type GatewayWorld,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import { errorOf, type Sdks, shown, streams } from '../../test/support/sdk-calls.ts';
import { startTimedProvider, type TimedProvider } from '../../test/support/timed-provider.ts';

/** A long lead, so that a busy machine is never later than it. */
const gateway = useGatewayWorld({ SVC_GATEWAY_HOLD_LEAD_MS: '6000' });
let usual: Pick<GatewayWorld, 'settings' | 'connections'>;
let timed: TimedProvider;
let direct: Sdks;
let through: Sdks;

beforeAll(async () => {
  timed = await startTimedProvider();
  gateway.settings = { ...gateway.settings, hold: 'paced', plainCalls: 'streamed' };
  usual = { settings: gateway.settings, connections: gateway.connections };
  direct = sdks(gateway.provider.url, `${gateway.provider.url}/v1`, 'sk-own');
  through = sdks(`${gateway.url}/anthropic`, `${gateway.url}/openai/v1`, gateway.key);
});
afterAll(() => timed.close());
beforeEach(async () => {
  Object.assign(gateway, usual);
  Object.assign(timed, { perSecond: 300, hiddenTokens: 300, hasHead: true, noticesAfterMs: 0 });
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
  forget();
});
afterEach(async () => {
  gateway.provider.fault = undefined;
  gateway.provider.beforeChunk = undefined;
  gateway.provider.outputOf = () => 5;
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

function sdks(anthropicUrl: string, openAiUrl: string, apiKey: string): Sdks {
  const openai = new OpenAI({ baseURL: openAiUrl, apiKey, maxRetries: 0 });
  return {
    openai,
    compat: openai,
    anthropic: new Anthropic({ baseURL: anthropicUrl, apiKey, maxRetries: 0 }),
  };
}

function forget(): void {
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
}

async function asProvided<Result>(call: (sdks: Sdks) => Promise<Result>): Promise<Result> {
  const result = await call(direct);
  forget();
  return result;
}

const sent = () => gateway.provider.requests.map(({ text }) => JSON.parse(text).stream === true);
const newest = async (count = 1) => (await gateway.runs()).slice(0, count);

describe.each(streams)('$api', ({ model, plain, tools }) => {
  test('a plain call is sent as a stream, has the response of a plain call, and is billed once', async () => {
    const provided = await asProvided(plain);
    expect(await plain(through)).toEqual(provided);
    expect(sent()).toEqual([true]);
    expectBilled(gateway.provider, await newest(), model);
  });

  test('a call of a tool has the response of a plain call', async () => {
    const provided = await asProvided((sdks) => plain(sdks, tools));
    expect(JSON.stringify(provided)).toContain('lookup');
    expect(await plain(through, tools)).toEqual(provided);
    expect(sent()).toEqual([true]);
  });

  test.each([400, 429, 500, 529])(
    'an error of status %i before the first byte is passed on',
    async (status) => {
      gateway.provider.fault = () => ({ status, retryAfter: '0.001' });
      const provided = await asProvided((sdks) => errorOf(plain(sdks)));
      expect(shown(await errorOf(plain(through)))).toEqual(shown(provided));
    },
  );

  test('a stream that breaks off is an error of status 502, and charged', async () => {
    gateway.provider.fault = () => ({ cutAfter: 4 });
    const error = await errorOf(plain(through));
    expect(error.status).toBe(502);
    expect(JSON.stringify(error.error)).toContain('broke off');
    expect(await newest()).toMatchObject([{ status: 'failed', marks: ['usage_estimated'] }]);
  });

  test('a client that leaves is charged what the provider bills', async () => {
    const abort = new AbortController();
    gateway.provider.beforeChunk = async (index) => {
      if (index === 3) {
        abort.abort();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await errorOf(plain(through, {}, { signal: abort.signal }));
    await eventually(async () => expect(await gateway.holds()).toBe(0));
    expectBilled(gateway.provider, await newest(), model);
  });
});

test('an idempotency key is used once, and a second call is not sent', async () => {
  const { plain } = streams[0] as (typeof streams)[number];
  const openai = (through.openai as OpenAI).withOptions({ defaultHeaders: { 'idempotency-key': 'plain-1' } });
  await plain({ ...through, openai });
  const error = await errorOf(plain({ ...through, openai }));
  expect([error.status, JSON.stringify(error.error)]).toEqual([
    409,
    expect.stringContaining('idempotency_key_used'),
  ]);
  expect(sent()).toEqual([true]);
});

test('a failed attempt is tried again before the first byte, and billed once', async () => {
  const { plain, model } = streams[2] as (typeof streams)[number];
  const provided = await asProvided(plain);
  gateway.provider.fault = () =>
    gateway.provider.requests.length === 1 ? { status: 500, retryAfter: '0.001' } : undefined;
  expect(await plain(through)).toEqual(provided);
  expect(sent()).toEqual([true, true]);
  expectBilled(gateway.provider, await newest(), model);
});

test('hold: expected follows the output of a plain call of a model that shows it', async () => {
  const { plain } = streams[2] as (typeof streams)[number];
  gateway.settings = { ...gateway.settings, hold: 'expected' };
  const provided = await asProvided(plain);
  expect(await plain(through)).toEqual(provided);
  expect(sent()).toEqual([true]);
});

test('several answers are put together one by one', async () => {
  const body = { n: 3 };
  const chat = streams[0] as (typeof streams)[number];
  const provided = await asProvided((sdks) => chat.plain(sdks, body));
  expect(await chat.plain(through, body)).toEqual(provided);
  expect(sent()).toEqual([true]);
});

test.each([
  [
    0,
    'data: {"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}\n\n',
    429,
  ],
  [1, 'event: error\ndata: {"type":"error","code":"server_error","message":"Oh.","param":null}\n\n', 500],
  [
    2,
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    529,
  ],
] as const)(
  'an error in the middle of a stream is an error of the format: %i',
  async (format, event, status) => {
    gateway.provider.fault = () => ({ endAfter: 3, with: event });
    const error = await errorOf((streams[format] as (typeof streams)[number]).plain(through));
    expect(error.status).toBe(status);
    expect(error.message).toMatch(/Slow down|Oh|Overloaded/);
    expect((await newest())[0]?.status).toBe('failed');
  },
);

test('a stream with an unknown part is an error once, and calls of the model are sent as they are from then on', async () => {
  const { plain } = streams[2] as (typeof streams)[number];
  gateway.connections = [{ ...connectionTo(gateway.provider.url, 'anthropic'), id: 'con_unknown' }];
  const part = `content_block_poem${'_long'.repeat(10_000)}`;
  gateway.provider.fault = (_, number) =>
    number === 0 || gateway.provider.requests.length === 1
      ? { endAfter: 3, with: `event: ${part}\ndata: {"type":"${part}","index":0}\n\n` }
      : undefined;
  const error = await errorOf(plain(through));
  expect(JSON.stringify(error.error).length).toBeLessThan(1_000);
  expect([error.status, JSON.stringify(error.error)]).toEqual([
    502,
    expect.stringContaining('content_block_poem'),
  ]);
  expect((await newest())[0]?.marks).toContain('usage_estimated');
  expect(await plain(through)).toMatchObject({ type: 'message' });
  expect(sent()).toEqual([true, false]);
});

test('calls are sent as they are if the worst case is held, if nothing is known of the provider, and for audio', async () => {
  const { plain } = streams[0] as (typeof streams)[number];
  gateway.settings = { ...gateway.settings, hold: 'worst_case' };
  await plain(through);
  gateway.settings = usual.settings;
  await plain(through, { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } });
  gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible')];
  await plain({
    ...through,
    openai: new OpenAI({ baseURL: `${gateway.url}/compat/openai_compatible/v1`, apiKey: gateway.key }),
  });
  expect(sent()).toEqual([false, false, false]);
});

const long = [
  {
    api: 'chat completions',
    end: { choices: [{ finish_reason: 'length' }] },
    call: () =>
      through.openai.chat.completions.create({
        model: 'gpt-test',
        max_completion_tokens: 128_000,
        reasoning_effort: 'high',
        messages: [{ role: 'user', content: 'Hello' }],
      }),
  },
  {
    api: 'responses',
    end: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    call: () =>
      through.openai.responses.create({
        model: 'gpt-test',
        max_output_tokens: 128_000,
        reasoning: { effort: 'high' },
        input: 'Hello',
      }),
  },
  {
    api: 'messages',
    // Reasoning without its signature cannot be a part of later requests.
    end: { status: 402, error: { error: { type: 'billing_error', code: 'hold_denied' } } },
    call: () =>
      through.anthropic.messages.create(
        {
          model: 'claude-test',
          max_tokens: 128_000,
          thinking: { type: 'enabled', budget_tokens: 100_000 },
          messages: [{ role: 'user', content: 'Hello' }],
        },
        { timeout: 600_000 },
      ),
  },
];

test.each(long)(
  '$api: a plain call whose hold cannot grow ends with what there is, never above the limit',
  async ({ end, call }) => {
    gateway.connections = [connectionTo(timed.url), connectionTo(timed.url, 'anthropic')].map((one) => ({
      ...one,
      calledAt: { provider: 'anthropic', region: null },
    }));
    timed.hiddenTokens = 300;
    await gateway.capAbove(0.1);
    expect(JSON.stringify(await call())).toContain('Hello');
    expect(await newest()).toMatchObject([{ output_tokens: 300, marks: [] }]);
    Object.assign(timed, { hiddenTokens: 100_000, noticesAfterMs: 500 });
    gateway.world.clock.advanceSeconds(1);
    await gateway.capAbove(0.07);
    const capNanos = (await gateway.spentNanos()) + 70_000_000n;
    expect(await call().catch((error) => error)).toMatchObject(end);
    expect((await newest())[0]?.marks).toContain('truncated');
    expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
  },
);
