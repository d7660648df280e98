/**
 * The matrix of the gateway through `wrap`: with one more line, an SDK returns what it returns from the provider itself, and every call
 * is admitted and charged exactly.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { expectBilled, type RunSummary, useGatewayWorld } from '../../../test/support/gateway-world.ts';
import {
  type Call,
  calls,
  errorOf,
  eventsOf,
  type SdkError,
  type Sdks,
  shown,
  streams,
} from '../../../test/support/sdk-calls.ts';
import { createPurser, type Purser } from './node.ts';

const gateway = useGatewayWorld();
let purser: Purser;
let wrapped: Sdks;
let direct: Sdks;
const errors: unknown[] = [];
const earlier = new Set<string>();
/** Short enough for the test, and a time that the SDKs wait for. */
const retryAfter = '0.001';

function sdks(): Sdks {
  const { url } = gateway.provider;
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-own' });
  return { openai, compat: openai, anthropic: new Anthropic({ baseURL: url, apiKey: 'sk-own' }) };
}

beforeAll(async () => {
  const { secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']);
  purser = createPurser({
    url: gateway.url,
    key,
    // No test is about its duration.
    timeoutMs: 600_000,
    requestTimeoutMs: 600_000,
    onError: (error) => errors.push(error),
  });
  direct = sdks();
  const { openai, anthropic } = sdks();
  wrapped = { openai: purser.wrap(openai), compat: purser.wrap(openai), anthropic: purser.wrap(anthropic) };
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
  forget();
});
afterEach(async () => {
  gateway.provider.fault = undefined;
  gateway.provider.beforeChunk = undefined;
  gateway.provider.outputOf = () => 5;
  for (const { id } of await gateway.runs()) {
    earlier.add(id);
  }
  expect(errors.splice(0)).toEqual([]);
});

function forget(): void {
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
}

async function asProvided<Result>(call: (sdks: Sdks) => Promise<Result>): Promise<Result> {
  const result = await call(direct);
  forget();
  return result;
}

/** The runs of this test, the first first, once everything is posted. */
async function runs(): Promise<RunSummary[]> {
  await purser.flush();
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).filter(({ id }) => !earlier.has(id)).reverse();
}

const expectBilledOnce = async (model: string) => expectBilled(gateway.provider, await runs(), model);

function withoutNullUsage(event: object): object {
  const { usage, ...rest } = event as { usage?: unknown };
  return usage === null ? rest : event;
}

/** An SDK that sends every call as a stream. */
function streaming<Client extends OpenAI | Anthropic>(sdk: Client): Client {
  const { fetch: send } = sdk as unknown as { fetch: typeof fetch };
  const asStream: typeof fetch = (input, init) =>
    send(input, { ...init, body: String(init?.body).replace('"stream":false', '"stream":true') });
  return sdk.withOptions({ fetch: asStream }) as Client;
}

function failOnce(status: number): void {
  gateway.provider.fault = () =>
    gateway.provider.requests.length === 1 ? { status, retryAfter } : undefined;
}

function expectDenied(error: SdkError): void {
  expect(error).toBeInstanceOf(error instanceof Anthropic.APIError ? Anthropic.APIError : OpenAI.APIError);
  expect(error.status).toBe(402);
  expect(error.message).toMatch(/resets at \d{4}-\d{2}-\d{2}T/);
  expect(error.headers?.get('x-should-retry')).toBe('false');
  const limit = { code: 'spend_cap_exceeded', details: { cap_usd: '0.000001' } };
  expect(error.error).toMatchObject(error instanceof Anthropic.APIError ? { error: limit } : limit);
}

describe.each(calls)('$api', ({ model, plain }) => {
  test('a plain call', async () => {
    const provided = await asProvided(plain);
    const answer = await plain(wrapped);
    expect(answer).toEqual(provided);
    expect((answer as { _request_id?: string })._request_id).toBe('req_mock');
    expect(gateway.provider.requests).toHaveLength(1);
    await expectBilledOnce(model);
  });

  test('a caller that aborts before the response pays what the provider bills', async () => {
    const abort = new AbortController();
    gateway.provider.fault = () => {
      abort.abort();
      return undefined;
    };
    const error = await errorOf(plain(wrapped, {}, { signal: abort.signal }));
    expect(error.constructor.name).toBe('APIUserAbortError');
    await eventually(async () => expect(gateway.provider.bill[0]?.isComplete).toBe(true));
    await eventually(async () => expect(await runs()).toHaveLength(1));
    await expectBilledOnce(model);
  });

  test('a denied call does not reach the provider, and raises the error of status 402', async () => {
    await gateway.cap('0.000001');
    expectDenied(await errorOf(plain(wrapped)));
    expect(gateway.provider.requests).toEqual([]);
    expect(await runs()).toEqual([]);
  });

  test.each([429, 500])(
    'status %i of the provider, once, is retried by the SDK and charged once',
    async (status) => {
      const provided = await asProvided(plain);
      failOnce(status);
      expect(await plain(wrapped)).toEqual(provided);
      expect(gateway.provider.requests).toHaveLength(2);
      await expectBilledOnce(model);
    },
  );

  test.each([429, 500])(
    'status %i of the provider, always, is what the caller sees, and free',
    async (status) => {
      gateway.provider.fault = () => ({ status, retryAfter });
      const provided = await asProvided((sdks) => errorOf(plain(sdks)));
      expect(shown(await errorOf(plain(wrapped)))).toEqual(shown(provided));
      expect(await runs()).toEqual([]);
    },
  );
});

describe.each(streams)('$api, streamed', ({ api, model, stream, helper, tools }) => {
  test('a stream has the events of the provider', async () => {
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks)));
    const events = await eventsOf(await stream(wrapped));
    expect(events.map(withoutNullUsage)).toEqual(provided);
    expect(events.length).toBeGreaterThan(5);
    await expectBilledOnce(model);
  });

  test('the stream helper of the SDK returns the same object', async () => {
    const provided = await asProvided(helper);
    expect(withoutNullUsage(await helper(wrapped))).toEqual(provided);
    await expectBilledOnce(model);
  });

  test('calls of a tool: plain, as events, and with the stream helper', async () => {
    const { plain } = calls.find((call) => call.api === api) as Call;
    const provided = await asProvided((sdks) => plain(sdks, tools));
    expect(JSON.stringify(provided)).toContain('lookup');
    expect(await plain(wrapped, tools)).toEqual(provided);
    expect(gateway.provider.requests[0]?.text).toContain(JSON.stringify(tools).slice(1, -1));
    const events = await asProvided(async (sdks) => eventsOf(await stream(sdks, tools)));
    expect((await eventsOf(await stream(wrapped, tools))).map(withoutNullUsage)).toEqual(events);
    const whole = await asProvided((sdks) => helper(sdks, tools));
    expect(withoutNullUsage(await helper(wrapped, tools))).toEqual(whole);
    expect(await runs()).toHaveLength(3);
  });

  test('a caller that leaves a stream pays what the provider bills', async () => {
    let leave: () => void = () => undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    gateway.provider.beforeChunk = (index) => (index < 4 ? Promise.resolve() : left);
    const started = await stream(wrapped);
    let received = 0;
    for await (const _ of started) {
      received += 1;
      started.controller.abort();
      leave();
    }
    expect(received).toBeLessThan(5);
    await eventually(async () => expect(gateway.provider.bill[0]?.isComplete).toBe(true));
    await eventually(async () => expect(await runs()).toHaveLength(1));
    await expectBilledOnce(model);
  });

  test('a caller that aborts a stream before its response pays what the provider bills', async () => {
    const abort = new AbortController();
    gateway.provider.fault = () => {
      abort.abort();
      return undefined;
    };
    const { plain } = calls.find((call) => call.api === api) as Call;
    // `plain` takes a signal; the body decides whether the response is a stream.
    const asStream = {
      ...wrapped,
      openai: streaming(wrapped.openai),
      anthropic: streaming(wrapped.anthropic),
    };
    const error = await errorOf(plain(asStream, {}, { signal: abort.signal }));
    expect(error.constructor.name).toBe('APIUserAbortError');
    await eventually(async () => expect(gateway.provider.bill[0]?.isComplete).toBe(true));
    await eventually(async () => expect(await runs()).toHaveLength(1));
    await expectBilledOnce(model);
  });

  test('a denied stream does not reach the provider, and raises the error of status 402', async () => {
    await gateway.cap('0.000001');
    for (const start of [stream, helper]) {
      expectDenied(await errorOf(start(wrapped)));
    }
    expect(gateway.provider.requests).toEqual([]);
    expect(await runs()).toEqual([]);
  });

  test.each([429, 500])('status %i of the provider, once, does not reach the stream', async (status) => {
    const provided = await asProvided(async (sdks) => eventsOf(await stream(sdks)));
    failOnce(status);
    expect((await eventsOf(await stream(wrapped))).map(withoutNullUsage)).toEqual(provided);
    await expectBilledOnce(model);
  });

  test.each([429, 500])('status %i of the provider, always, is what the stream raises', async (status) => {
    gateway.provider.fault = () => ({ status, retryAfter });
    const provided = await asProvided((sdks) => errorOf(stream(sdks)));
    expect(shown(await errorOf(stream(wrapped)))).toEqual(shown(provided));
    expect(await runs()).toEqual([]);
  });
});

test('a caller that requests the usage chunk gets it', async () => {
  const chat = streams.find(({ api }) => api === 'openai, chat') as (typeof streams)[number];
  const requested = { stream_options: { include_usage: true } };
  const provided = await asProvided(async (sdks) => eventsOf(await chat.stream(sdks, requested)));
  expect(await eventsOf(await chat.stream(wrapped, requested))).toEqual(provided);
  expect(provided.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 5 } });
  await expectBilledOnce(chat.model);
});

const question = [{ role: 'user' as const, content: 'Say hello' }];

test('a call without a maximum gets the default one, and its hold covers no more', async () => {
  const sdk = purser.wrap(direct.openai, { defaultMaxOutputTokens: 300 });
  await sdk.chat.completions.create({ model: 'gpt-test', messages: question, n: 2 });
  expect(JSON.parse(gateway.provider.requests[0]?.text ?? '')).toMatchObject({ max_tokens: 300, n: 2 });
  await sdk.responses.create({ model: 'gpt-test', input: 'Say hello', max_output_tokens: 20 });
  expect(JSON.parse(gateway.provider.requests[1]?.text ?? '')).toMatchObject({ max_output_tokens: 20 });
  expect(await runs()).toHaveLength(2);
});

test('with `fit` the maximum output is lowered to what the limits allow', async () => {
  const { json } = await gateway.world.request('GET', `/v1/orgs/${gateway.org.id}/limits`, {
    key: gateway.org.ownerKey,
  });
  await gateway.cap((Number(json.data[0].standing.settled) + 0.004).toFixed(9));
  const sdk = purser.wrap(direct.openai, { onLimit: 'fit' });
  await sdk.chat.completions.create({ model: 'gpt-test', messages: question, max_tokens: 8_000 });
  const { max_tokens: sent } = JSON.parse(gateway.provider.requests[0]?.text ?? '') as { max_tokens: number };
  expect(sent).toBeLessThan(400);
  expect(sent).toBeGreaterThanOrEqual(256);
  await expectBilledOnce('gpt-test');
});

test('with `close` an aborted stream ends at the provider, and an upper bound is charged', async () => {
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  gateway.provider.beforeChunk = (index) => (index < 4 ? Promise.resolve() : left);
  const sdk = purser.wrap(direct.openai, { onAbort: 'close' });
  const stream = await sdk.chat.completions.create({
    model: 'gpt-test',
    messages: question,
    max_tokens: 100,
    stream: true,
  });
  for await (const _ of stream) {
    stream.controller.abort();
  }
  await eventually(async () => expect(await runs()).toHaveLength(1));
  leave();
  const [run] = await runs();
  expect(run).toMatchObject({ status: 'cancelled', output_tokens: 100, metadata: { usage_estimated: true } });
});

test('calls have the attribution of withRun, of the SDK and of the client, the nearest first', async () => {
  const sdk = purser.wrap(direct.openai, {
    attribution: { team: 'red', workflow: 'chat', tags: { a: '1' } },
  });
  await purser.withRun({ team: 'blue', customer: 'acme', tags: { b: '2' } }, () =>
    sdk.embeddings.create({ model: 'embed-test', input: 'one' }),
  );
  expect(await runs()).toMatchObject([
    { team: 'blue', workflow: 'chat', customer_id: 'acme', tags: { a: '1', b: '2' } },
  ]);
});

test('a response in the background is rejected, and requests that cost nothing pass unmetered', async () => {
  const error = await errorOf(
    wrapped.openai.responses.create({ model: 'gpt-test', input: 'x', background: true }),
  );
  expect(error.status).toBe(400);
  expect(gateway.provider.requests).toEqual([]);
  await wrapped.openai.files.retrieve('file_1');
  expect(gateway.provider.requests.at(-1)?.url).toBe('/v1/files/file_1');
  expect(await runs()).toEqual([]);
});

test('a provider that cannot be reached leaves no hold', async () => {
  gateway.provider.fault = () => 'reset';
  const error = await errorOf(wrapped.openai.embeddings.create({ model: 'embed-test', input: 'x' }));
  expect(error.constructor.name).toBe('APIConnectionError');
  expect(await runs()).toEqual([]);
});

test('a response that does not arrive in time is charged, since the provider may bill it', async () => {
  const cause = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  const fetchLate = () => Promise.reject(new TypeError('fetch failed', { cause }));
  const openai = purser.wrap(new OpenAI({ apiKey: 'sk-own', maxRetries: 0, fetch: fetchLate }));
  const error = await errorOf(openai.embeddings.create({ model: 'embed-test', input: 'x' }));
  expect(error.constructor.name).toBe('APIConnectionTimeoutError');
  expect(await runs()).toMatchObject([{ status: 'failed', model: 'embed-test' }]);
});

test('only clients of the SDKs can be wrapped', () => {
  expect(() => purser.wrap({})).toThrow(TypeError);
});
