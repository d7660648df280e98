/** Checks of a run and bounds of the process, as they apply to calls through the gateway. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld({ SVC_GATEWAY_STREAMS_MAX: '3', SVC_GATEWAY_DRAINS_MAX: '1' });
let usual: GatewayWorld['settings'];

beforeAll(() => {
  usual = gateway.settings;
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(3_600);
  gateway.settings = usual;
  gateway.provider.beforeChunk = undefined;
  gateway.provider.outputOf = () => 5;
  gateway.provider.requests.length = 0;
});
afterEach(() => eventually(async () => expect(await gateway.holds()).toBe(0)));

const messages = [{ role: 'user', content: 'Say hello to the world' }];
const bodies = {
  chat: { path: '/openai/v1/chat/completions', body: { model: 'gpt-test', max_tokens: 50, messages } },
  messages: { path: '/anthropic/v1/messages', body: { model: 'claude-test', max_tokens: 50, messages } },
};

interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

function send(shape: keyof typeof bodies, more: object = {}, { headers = {}, signal }: SendOptions = {}) {
  const { path, body } = bodies[shape];
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...body, ...more }),
    ...(signal !== undefined && { signal }),
  });
}

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

const ofOrg = (method: string, path: string, body?: object) =>
  gateway.world.request(method, `/v1/orgs/${gateway.org.id}${path}`, {
    key: gateway.org.ownerKey,
    ...(body !== undefined && { body }),
  });

/** Streams stop after some chunks until this is called. */
function holdStreams(): () => void {
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.beforeChunk = (index) => (index < 3 ? Promise.resolve() : gate);
  return proceed;
}

test('calls above SVC_GATEWAY_STREAMS_MAX are 503 in the format of the provider, until one ends', async () => {
  const proceed = holdStreams();
  const streams = await Promise.all([1, 2, 3].map(() => send('chat', { stream: true })));
  const denied = await send('chat');
  expect([denied.status, denied.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await denied.json()).error).toMatchObject({ type: 'api_error', code: 'overloaded' });
  const deniedClaude = await send('messages');
  expect(await deniedClaude.json()).toMatchObject({
    type: 'error',
    error: { type: 'overloaded_error', code: 'overloaded' },
  });
  expect(gateway.provider.requests).toHaveLength(3);
  proceed();
  await Promise.all(streams.map((response) => response.text()));
  expect((await send('chat')).status).toBe(200);
});

test('of the streams whose clients have left, SVC_GATEWAY_DRAINS_MAX are read to their end, and the others are closed', async () => {
  // The gateway finds out that a client has left when it passes on the next chunks.
  gateway.provider.outputOf = () => 50;
  gateway.provider.beforeChunk = (index) => (index < 3 ? Promise.resolve() : pause(20));
  for (let stream = 0; stream < 2; stream += 1) {
    const abort = new AbortController();
    const response = await send('chat', { stream: true }, { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
  }
  await eventually(async () => {
    const runs = (await gateway.runs()).slice(0, 2);
    expect(runs.map(({ status, marks }) => [status, marks]).sort()).toEqual([
      ['cancelled', ['usage_estimated']],
      ['succeeded', []],
    ]);
  });
});

test('the end user in the body is the customer if the org wants that, and its limit denies calls', async () => {
  await send('chat', { user: 'cust-1' });
  expect((await lastRun())?.customer_id).toBeNull();
  gateway.settings = { ...usual, customerFromBody: true };
  const customerOf = async (shape: keyof typeof bodies, more: object, headers = {}) => {
    gateway.world.clock.advanceSeconds(1);
    expect((await send(shape, more, { headers })).status).toBe(200);
    return (await lastRun())?.customer_id;
  };
  expect(await customerOf('chat', { user: 'cust-1' })).toBe('cust-1');
  expect(await customerOf('chat', { safety_identifier: 'cust-2' })).toBe('cust-2');
  expect(await customerOf('messages', { metadata: { user_id: 'cust-3' } })).toBe('cust-3');
  expect(await customerOf('chat', { user: 'cust-1' }, { 'x-svc-customer': 'cust-4' })).toBe('cust-4');
  for (const user of ['', 'x'.repeat(201), 'a\u0000b', '\ud800', 7, null]) {
    expect([user, await customerOf('chat', { user })]).toEqual([user, null]);
  }
  const limit = { customer_id: 'cust-1', period: 'day', limit_usd: '0.0001' };
  expect((await ofOrg('POST', '/customer-limits', limit)).status).toBe(201);
  const denied = await send('chat', { user: 'cust-1' });
  expect([denied.status, (await denied.json()).error.code]).toEqual([402, 'budget_exceeded']);
  expect((await send('chat', { user: 'cust-2' })).status).toBe(200);
});

test('a model whose name cannot be stored is rejected', async () => {
  for (const model of ['gpt\u0000test', '\udc00', '', 7]) {
    const response = await send('chat', { model });
    expect([model, response.status]).toEqual([model, 400]);
  }
  expect(gateway.provider.requests).toEqual([]);
});

test('a safety detector that fires on the prompt denies the call in the format of the provider', async () => {
  const detector = { name: 'secret project', kind: 'words', words: ['bluebird'], action: 'block' };
  const { json } = await ofOrg('POST', '/safety-detectors', detector);
  const prompt = { messages: [{ role: 'user', content: 'What is Bluebird about?' }] };
  const denied = await send('chat', { ...prompt, stream: true });
  expect([denied.status, denied.headers.get('x-should-retry')]).toEqual([403, 'false']);
  expect((await denied.json()).error).toMatchObject({
    type: 'permission_error',
    code: 'content_safety_blocked',
    details: { detector: 'secret project' },
  });
  const claude = await send('messages', { system: [{ type: 'text', text: 'You know bluebird.' }] });
  expect([claude.status, (await claude.json()).error.type]).toEqual([403, 'permission_error']);
  expect(gateway.provider.requests).toEqual([]);
  expect((await send('chat')).status).toBe(200);
  expect((await ofOrg('DELETE', `/safety-detectors/${json.id}`)).status).toBe(204);
});

test('a rate of the org is 429 with Retry-After, and a call that was denied did not reach the provider', async () => {
  const policy = { name: 'calls', unit: 'requests', limit: 2, window_seconds: 60, kind: 'rate' };
  const put = (policies: object[]) =>
    gateway.world.request('PUT', `/v1/admin/orgs/${gateway.org.id}/rate-limits`, {
      key: gateway.world.operatorKey,
      body: { policies },
    });
  expect((await put([{ ...policy, match: { model: '*' } }])).status).toBe(200);
  for (const shape of ['chat', 'chat', 'messages', 'messages'] as const) {
    expect((await send(shape)).status).toBe(200);
  }
  const denied = await send('chat');
  const { error } = await denied.json();
  expect([denied.status, error.type, error.code]).toEqual([429, 'rate_limit_error', 'rate_limited']);
  expect(denied.headers.get('retry-after')).toBe(String(error.details.retry_after_seconds));
  expect(denied.headers.get('x-should-retry')).toBeNull();
  const claude = await send('messages');
  expect([claude.status, (await claude.json()).error.type]).toEqual([429, 'rate_limit_error']);
  expect(gateway.provider.requests).toHaveLength(4);
  gateway.world.clock.advanceSeconds(Number(denied.headers.get('retry-after')));
  expect((await send('chat')).status).toBe(200);
  await put([]);
});

test('a hold outlasts all attempts, each of which may wait for its first byte, and the response', async () => {
  const { connections } = gateway;
  const timeouts = { connectMs: 10_000, firstByteMs: 600_000, idleMs: 300_000, totalMs: 60_000 };
  gateway.connections = connections.map((connection) => ({ ...connection, timeouts }));
  let goOn: () => void = () => undefined;
  gateway.provider.beforeChunk = () =>
    new Promise((resolve) => {
      goOn = resolve;
    });
  const response = await send('chat', { stream: true });
  const { json } = await ofOrg('GET', '/holds');
  const [{ expires_at: expiresAt }] = json.data;
  const seconds = (Date.parse(expiresAt) - gateway.world.clock.now().getTime()) / 1_000;
  expect(seconds).toBe(3 * 610 + 60 + 120);
  gateway.provider.beforeChunk = undefined;
  goOn();
  await response.text();
  gateway.connections = connections;
});
