import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { useFixture } from '../../test/support/fixtures.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { startMockProvider } from '../../test/support/mock-provider.ts';

const second = useFixture(startMockProvider);
const gateway = useGatewayWorld();
let openai: OpenAI;
let usual: Pick<GatewayWorld, 'connections' | 'settings'>;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  usual = { connections: gateway.connections, settings: gateway.settings };
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  for (const provider of [gateway.provider, second]) {
    provider.fault = undefined;
    provider.beforeChunk = undefined;
    provider.outputOf = () => 5;
    provider.requests.length = 0;
    provider.bill.length = 0;
  }
  gateway.reports.length = 0;
});
afterEach(async () => {
  Object.assign(gateway, usual);
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

const messages = [{ role: 'user' as const, content: 'Say hello to the world' }];
const chat = { model: 'gpt-test', messages };

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

/** The provider has received one request since the test has started, or has cleared its requests. */
const isFirstRequest = () => gateway.provider.requests.length === 1;

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error) => error,
  );

test('a provider that fails is tried again at the next connection, under one hold', async () => {
  gateway.connections = [
    connectionTo(gateway.provider.url, 'openai', { id: 'con_1' }),
    connectionTo(second.url, 'openai', { id: 'con_2' }),
  ];
  gateway.provider.fault = () => ({ status: 500 });
  const { response } = await openai.chat.completions.create(chat).withResponse();
  expect(response.headers.get('x-svc-attempts')).toBe('2');
  expect([gateway.provider.requests.length, second.requests.length]).toEqual([1, 1]);
  expect(gateway.reports).toEqual(['failed con_1', 'succeeded con_2']);
  expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5 });
});

test('a provider that closes the connection is tried again, and an error of the gateway follows the third attempt', async () => {
  gateway.provider.fault = () => 'reset';
  const error = await errorOf(openai.chat.completions.create(chat));
  expect(error).toMatchObject({ status: 502, code: 'provider_unreachable' });
  expect(gateway.provider.requests).toHaveLength(3);
  // It had the request each time, and may charge for it.
  expect(await lastRun()).toMatchObject({
    status: 'failed',
    output_tokens: 3_000,
    marks: ['usage_estimated'],
  });
});

test('a 429 is tried again after Retry-After, and passed on unchanged if that is too long', async () => {
  gateway.provider.fault = () => (isFirstRequest() ? { status: 429, retryAfter: '0' } : undefined);
  const { response } = await openai.chat.completions.create(chat).withResponse();
  expect(response.headers.get('x-svc-attempts')).toBe('2');
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  gateway.provider.fault = () => ({ status: 429, retryAfter: '3600', body: '{"error":{"message":"later"}}' });
  const error = await errorOf(openai.chat.completions.create(chat));
  expect(error).toMatchObject({ status: 429, error: { message: 'later' } });
  expect(gateway.provider.requests).toHaveLength(1);
  expect(await lastRun()).toMatchObject({ status: 'failed', cost_usd: '0' });
});

test('usage that a failed attempt reports is posted together with that of the last one', async () => {
  const body = JSON.stringify({ error: {}, usage: { prompt_tokens: 100, completion_tokens: 10 } });
  gateway.provider.fault = () => (isFirstRequest() ? { status: 500, body } : undefined);
  await openai.chat.completions.create(chat);
  const [billed] = gateway.provider.bill;
  expect(await lastRun()).toMatchObject({
    input_tokens: (billed?.inputTokens ?? 0) + 100,
    output_tokens: 15,
  });
});

test('a 4xx of the provider is passed on unchanged and costs nothing; its key is never shown', async () => {
  gateway.provider.fault = () => ({ status: 422, body: '{"error":{"message":"no such field","type":"x"}}' });
  expect(await errorOf(openai.chat.completions.create(chat))).toMatchObject({
    status: 422,
    error: { message: 'no such field', type: 'x' },
  });
  expect(gateway.provider.requests).toHaveLength(1);
  expect(await lastRun()).toMatchObject({ status: 'failed', cost_usd: '0' });
  gateway.provider.fault = () => ({ status: 401, body: '{"error":{"message":"bad key sk-pro***nary"}}' });
  const rejected = await errorOf(openai.chat.completions.create(chat));
  expect(rejected).toMatchObject({ status: 502, code: 'provider_key_rejected' });
  expect(String(rejected)).not.toContain('nary');
});

test('the previous key of a connection is used while the provider rejects the new one', async () => {
  gateway.connections = [
    connectionTo(gateway.provider.url, 'openai', {
      credential: () => ({ type: 'key', key: 'new' }),
      previousCredential: () => ({ type: 'key', key: 'old' }),
    }),
  ];
  gateway.provider.fault = ({ headers }) =>
    headers.authorization === 'Bearer old' ? undefined : { status: 401 };
  await openai.chat.completions.create(chat);
  expect(gateway.provider.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer new',
    'Bearer old',
  ]);
});

/** Starts a stream whose provider waits after its third chunk, and leaves it. */
async function leaveStream(): Promise<() => void> {
  let proceed: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.outputOf = () => 30;
  gateway.provider.beforeChunk = (index) => (index < 3 ? Promise.resolve() : gate);
  const abort = new AbortController();
  const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    signal: abort.signal,
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...chat, stream: true }),
  });
  await response.body?.getReader().read();
  abort.abort();
  return proceed;
}

test('drain: the usage of a stream whose client has left is the exact one', async () => {
  const proceed = await leaveStream();
  proceed();
  await eventually(async () => {
    const [billed] = gateway.provider.bill;
    expect(await lastRun()).toMatchObject({
      status: 'succeeded',
      input_tokens: billed?.inputTokens,
      output_tokens: 30,
      marks: [],
    });
  });
});

test('close: a stream whose client has left is closed, and posted as an upper bound', async () => {
  gateway.settings = { ...gateway.settings, onAbort: 'close' };
  const proceed = await leaveStream();
  // The gateway finds out when it passes on the next chunk: a client may close its sending side and still read.
  gateway.provider.outputOf = () => 30;
  gateway.provider.beforeChunk = () => new Promise((resolve) => setTimeout(resolve, 20));
  proceed();
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ status: 'cancelled', marks: ['usage_estimated'] }),
  );
  const run = await lastRun();
  expect(run?.output_tokens).toBeGreaterThanOrEqual(gateway.provider.bill[0]?.outputTokens ?? 0);
});

test('close: a client that leaves before the provider has accepted the connection costs nothing', async () => {
  const abort = new AbortController();
  // The handshake of TLS never ends.
  const silent = createServer(() => abort.abort());
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const { port } = silent.address() as AddressInfo;
  gateway.connections = [connectionTo(`https://127.0.0.1:${port}`)];
  gateway.settings = { ...gateway.settings, onAbort: 'close' };
  expect(await errorOf(openai.chat.completions.create(chat, { signal: abort.signal }))).toBeDefined();
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ status: 'cancelled', cost_usd: '0', marks: [] }),
  );
  silent.close();
});

test('a client that leaves before the response costs what the provider billed', async () => {
  const abort = new AbortController();
  gateway.provider.fault = () => {
    abort.abort();
    return undefined;
  };
  expect(await errorOf(openai.chat.completions.create(chat, { signal: abort.signal }))).toBeDefined();
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5, marks: [] }),
  );
});

test('a denied call is 402 in the format of the provider, is not retried, and says when the limit resets', async () => {
  await gateway.cap('0.001');
  const retrying = { maxRetries: 2 };
  const client = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, ...retrying });
  const error = await errorOf(client.chat.completions.create(chat));
  expect(error).toMatchObject({
    status: 402,
    code: 'spend_cap_exceeded',
    type: 'insufficient_quota',
    error: { details: { cap_usd: '0.001' } },
  });
  expect(String(error)).toMatch(/resets at \d{4}-/);
  expect(error.headers.get('x-should-retry')).toBe('false');
  const claude = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, ...retrying });
  expect(
    await errorOf(claude.messages.create({ model: 'claude-test', max_tokens: 500, messages })),
  ).toMatchObject({ status: 402, error: { type: 'error', error: { type: 'billing_error' } } });
  const codex = await fetch(`${gateway.url}/openai/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      'user-agent': 'codex_cli_rs/0.50.0',
    },
    body: JSON.stringify({ model: 'gpt-test', input: 'hello', stream: true }),
  });
  expect(codex.status).toBe(429);
  expect(await codex.json()).toMatchObject({
    error: { type: 'usage_limit_reached', resets_at: expect.any(Number) },
  });
  expect(gateway.provider.requests).toEqual([]);
});

test('fit lowers the maximum to what the limit allows', async () => {
  await gateway.capAbove(0.005);
  const { response } = await openai.chat.completions
    .create(chat, { headers: { 'x-svc-on-limit': 'fit' } })
    .withResponse();
  const fitted = Number(response.headers.get('x-svc-fitted-max-tokens'));
  expect(fitted).toBeGreaterThan(10);
  expect(fitted).toBeLessThan(500);
  expect(JSON.parse(gateway.provider.requests[0]?.text ?? '').max_completion_tokens).toBe(fitted);
  expect(response.headers.get('x-svc-remaining-usd')).toMatch(/^0(\.0000\d+)?$/);
});

test('the maximum cost in a header refuses a call, or lowers its maximum', async () => {
  await gateway.cap('100');
  const limited = (onLimit: string) =>
    openai.chat.completions
      .create(chat, { headers: { 'x-svc-max-cost-usd': '0.004', 'x-svc-on-limit': onLimit } })
      .withResponse();
  expect(await errorOf(limited('refuse'))).toMatchObject({ status: 402, code: 'max_cost_exceeded' });
  const { response } = await limited('fit');
  expect(Number(response.headers.get('x-svc-held-usd'))).toBeLessThanOrEqual(0.004);
});

test('a settlement that the ledger cannot take is kept on disk and posted later', async () => {
  const { ledger } = gateway.world.services;
  const post = ledger.post.bind(ledger);
  gateway.provider.fault = () => {
    ledger.post = () => Promise.reject(new Error('the ledger is away'));
    return undefined;
  };
  const answer = await openai.chat.completions.create(chat).withResponse();
  const { headers } = answer.response;
  expect(await gateway.holds()).toBe(1);
  ledger.post = post;
  await gateway.world.runJob('retry-gateway-settlements');
  expect(await gateway.holds()).toBe(0);
  expect(await lastRun()).toMatchObject({
    id: headers.get('x-svc-run-id'),
    status: 'succeeded',
    output_tokens: 5,
    cost_usd: headers.get('x-svc-cost-usd'),
    marks: [],
  });
});
