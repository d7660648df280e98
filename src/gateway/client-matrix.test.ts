/**
 * The matrix of SDKs, APIs and situations: what an SDK returns through the gateway is what it returns from the provider itself, with
 * nothing changed but its base URL and its key.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import {
  connectionTo,
  expectBilled,
  type RunSummary,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import {
  type Call,
  calls,
  errorOf,
  eventsOf,
  openAiCalls,
  type SdkError,
  type Sdks,
  shown,
  streams,
} from '../../test/support/sdk-calls.ts';

const gateway = useGatewayWorld();
/** Requests of the SDKs, retries included. */
let sent = 0;
/** Runs of earlier tests. */
const earlier = new Set<string>();

/** The SDKs in front of the gateway, and in front of the provider. */
let through: Sdks;
let direct: Sdks;

/** The options of an SDK. Its own retries stay on. */
function options(baseURL: string, apiKey: string) {
  const counted: typeof fetch = (...request) => {
    sent += 1;
    return fetch(...request);
  };
  return { baseURL, apiKey, fetch: counted };
}

beforeAll(() => {
  const { url, key, provider } = gateway;
  gateway.connections = [
    ...gateway.connections,
    connectionTo(provider.url, 'openai_compatible', { name: 'other', id: 'con_other' }),
  ];
  through = {
    openai: new OpenAI(options(`${url}/openai/v1`, key)),
    compat: new OpenAI(options(`${url}/compat/other/v1`, key)),
    anthropic: new Anthropic(options(`${url}/anthropic`, key)),
  };
  const openai = new OpenAI(options(`${provider.url}/v1`, 'sk-own'));
  direct = { openai, compat: openai, anthropic: new Anthropic(options(provider.url, 'sk-own')) };
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
  sent = 0;
  forget();
});
afterEach(async () => {
  gateway.provider.fault = undefined;
  gateway.provider.beforeChunk = undefined;
  await keepRuns();
});

/** The runs so far are those of earlier calls. */
async function keepRuns(): Promise<void> {
  for (const { id } of await gateway.runs()) {
    earlier.add(id);
  }
}

function forget(): void {
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
}

/** The runs of this test, the first first, once nothing is held. */
async function runs(): Promise<RunSummary[]> {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).filter(({ id }) => !earlier.has(id)).reverse();
}

const expectBilledOnce = async (model: string) => expectBilled(gateway.provider, await runs(), model);

/** Makes a call at the provider itself, and forgets it there. */
async function asProvided<Result>(call: (sdks: Sdks) => Promise<Result>): Promise<Result> {
  const result = await call(direct);
  forget();
  sent = 0;
  return result;
}

/** The gateway requests the usage of a chat. OpenAI then adds `usage: null` to every chunk but the last, which is left out. */
function withoutNullUsage(event: object): object {
  const { usage, ...rest } = event as { usage?: unknown };
  return usage === null ? rest : event;
}

/** Short enough for the test, and a time that gateway and SDKs wait for. */
const retryAfter = '0.001';
/** An error that says that nothing was generated, so that it costs nothing at any provider. */
const notStarted = {
  retryAfter,
  body: JSON.stringify({ error: { message: 'fault', type: 'overloaded_error', code: 'fault' } }),
};

test.each(openAiCalls('compat'))(
  'through a connection by its name: $api',
  async ({ model, plain, stream }) => {
    const answer = await asProvided(plain);
    gateway.reports.length = 0;
    expect(await plain(through)).toEqual(answer);
    expect(gateway.reports).toEqual(['succeeded con_other']);
    await expectBilledOnce(model);
    if (stream === undefined) {
      return;
    }
    await keepRuns();
    forget();
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks)));
    expect((await eventsOf(await stream(through))).map(withoutNullUsage)).toEqual(provided);
    await expectBilledOnce(model);
  },
);

describe.each(calls)('$api', ({ model, plain }) => {
  test('a plain call', async () => {
    const provided = await asProvided(plain);
    const answer = await plain(through);
    expect(answer).toEqual(provided);
    expect((answer as { _request_id?: string })._request_id).toBe('req_mock');
    expect([sent, gateway.provider.requests.length]).toEqual([1, 1]);
    await expectBilledOnce(model);
  });

  test('a client that leaves before the response pays what the provider bills', async () => {
    const abort = new AbortController();
    gateway.provider.fault = () => {
      abort.abort();
      return undefined;
    };
    const error = await errorOf(plain(through, {}, { signal: abort.signal }));
    expect(error.constructor.name).toBe('APIUserAbortError');
    await eventually(async () => expect(gateway.provider.bill[0]?.isComplete).toBe(true));
    await expectBilledOnce(model);
    expect([sent, gateway.provider.requests.length]).toEqual([1, 1]);
  });

  test('a denied call is one request, and raises the error of status 402', async () => {
    await gateway.cap('0.000001');
    const error = await errorOf(plain(through));
    expect(sent).toBe(1);
    expectDenied(error);
    expect(gateway.provider.requests).toEqual([]);
    expect(await runs()).toEqual([]);
  });

  test.each([429, 500])('status %i of the provider, once, does not reach the client', async (status) => {
    const provided = await asProvided(plain);
    failOnce(status);
    expect(await plain(through)).toEqual(provided);
    expect([sent, gateway.provider.requests.length]).toEqual([1, 2]);
    await expectBilledOnce(model);
  });

  test.each([429, 500])('status %i of the provider, always, is what the client sees', async (status) => {
    gateway.provider.fault = () => ({ status, ...notStarted });
    const provided = await asProvided((sdks) => errorOf(plain(sdks)));
    const error = await errorOf(plain(through));
    expect(shown(error)).toEqual(shown(provided));
    expect(error.status).toBe(status);
    await expectFailedFree();
  });
});

describe.each(streams)('$api, streamed', ({ api, model, stream, helper, tools }) => {
  test('a stream has the events of the provider', async () => {
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks)));
    const events = await eventsOf(await stream(through));
    expect(events.map(withoutNullUsage)).toEqual(provided);
    expect(events.length).toBeGreaterThan(5);
    expect([sent, gateway.provider.requests.length]).toEqual([1, 1]);
    await expectBilledOnce(model);
  });

  test('the stream helper of the SDK returns the same object', async () => {
    const provided = await asProvided(helper);
    expect(withoutNullUsage(await helper(through))).toEqual(provided);
    await expectBilledOnce(model);
  });

  test('a plain call of a tool', async () => {
    const { plain } = calls.find((call) => call.api === api) as Call;
    const provided = await asProvided((sdks) => plain(sdks, tools));
    expect(JSON.stringify(provided)).toContain('lookup');
    expect(await plain(through, tools)).toEqual(provided);
    expect(gateway.provider.requests[0]?.text).toContain(JSON.stringify(tools).slice(1, -1));
    await expectBilledOnce(model);
  });

  test('a streamed call of a tool, as events and with the stream helper', async () => {
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks, tools)));
    const events = await eventsOf(await stream(through, tools));
    expect(events.map(withoutNullUsage)).toEqual(provided);
    await expectBilledOnce(model);
    await keepRuns();
    const whole = await asProvided((sdks) => helper(sdks, tools));
    expect(JSON.stringify(whole)).toContain('lookup');
    expect(withoutNullUsage(await helper(through, tools))).toEqual(whole);
    await expectBilledOnce(model);
  });

  test('a client that leaves a stream pays what the provider bills', async () => {
    let leave: () => void = () => undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    gateway.provider.beforeChunk = (index) => (index < 4 ? Promise.resolve() : left);
    const started = await stream(through);
    let received = 0;
    for await (const _ of started) {
      received += 1;
      started.controller.abort();
      leave();
    }
    expect(received).toBeLessThan(5);
    await eventually(async () => expect(gateway.provider.bill[0]?.isComplete).toBe(true));
    await expectBilledOnce(model);
  });

  test('a denied stream is one request, and raises the error of status 402', async () => {
    await gateway.cap('0.000001');
    for (const start of [stream, helper]) {
      sent = 0;
      expectDenied(await errorOf(start(through)));
      expect(sent).toBe(1);
    }
    expect(gateway.provider.requests).toEqual([]);
    expect(await runs()).toEqual([]);
  });

  test.each([429, 500])('status %i of the provider, once, does not reach the stream', async (status) => {
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks)));
    failOnce(status);
    expect((await eventsOf(await stream(through))).map(withoutNullUsage)).toEqual(provided);
    expect([sent, gateway.provider.requests.length]).toEqual([1, 2]);
    await expectBilledOnce(model);
  });

  test.each([429, 500])('status %i of the provider, always, is what the stream raises', async (status) => {
    gateway.provider.fault = () => ({ status, ...notStarted });
    const provided = await asProvided((sdks) => errorOf(stream(sdks)));
    expect(shown(await errorOf(stream(through)))).toEqual(shown(provided));
    await expectFailedFree();
  });
});

test.each(streams.filter(({ api }) => api.endsWith('chat')))(
  'a client that requests usage gets the same chunks: $api',
  async ({ model, stream }) => {
    const requested = { stream_options: { include_usage: true } };
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks, requested)));
    expect(await eventsOf(await stream(through, requested))).toEqual(provided);
    expect(provided.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 5 } });
    await expectBilledOnce(model);
  },
);

function failOnce(status: number): void {
  gateway.provider.fault = () =>
    gateway.provider.requests.length === 1 ? { status, ...notStarted } : undefined;
}

function expectDenied(error: SdkError): void {
  expect(error).toBeInstanceOf(error instanceof Anthropic.APIError ? Anthropic.APIError : OpenAI.APIError);
  expect(error.status).toBe(402);
  expect(error.message).toMatch(/resets at \d{4}-\d{2}-\d{2}T/);
  expect(error.headers?.get('x-should-retry')).toBe('false');
  const limit = { code: 'spend_cap_exceeded', details: { cap_usd: '0.000001' } };
  expect(error.error).toMatchObject(
    error instanceof Anthropic.APIError
      ? { type: 'error', error: { type: 'billing_error', ...limit } }
      : { type: 'insufficient_quota', ...limit },
  );
}

/** The SDK has sent three requests, each with three attempts of the gateway: three runs that cost nothing. */
async function expectFailedFree(): Promise<void> {
  expect([sent, gateway.provider.requests.length]).toEqual([3, 9]);
  const failed = { status: 'failed', cost_usd: '0', input_tokens: 0, output_tokens: 0, marks: [] };
  expect(await runs()).toMatchObject([failed, failed, failed]);
}
