/** `hold: paced`: calls of a provider that bills all that it has generated, shown or not, and also after its client has left. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TObject } from 'typebox';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { eventSchema } from '../contract/events.ts';
import { compileBody } from '../platform/http/routes/validation.ts';

/** A long lead, so that a busy machine is never later than it. */
const gateway = useGatewayWorld({ SVC_GATEWAY_HOLD_LEAD_MS: '6000' });
let usual: Pick<GatewayWorld, 'settings' | 'connections'>;
let server: Server;
/** Hidden tokens per second, and the number of all. */
let perSecond = 300;
let hiddenTokens = 0;
let hasHead = true;
let isFailing = false;
const bill: { readonly output: () => number }[] = [];

const eventStream = { 'content-type': 'text/event-stream' };
const event = (data: object) =>
  `event: ${(data as { type?: string }).type}\ndata: ${JSON.stringify(data)}\n\n`;

/** Generates at its rate until the connection is closed. */
function generate(
  body: { readonly stream?: boolean; readonly max_tokens: number },
  response: ServerResponse,
): void {
  const startedMs = performance.now();
  const most = Math.min(hiddenTokens, body.max_tokens);
  let endedMs: number | undefined;
  const output = () =>
    Math.min(most, Math.ceil((((endedMs ?? performance.now()) - startedMs) * perSecond) / 1_000));
  bill.push({ output });
  const timer = setTimeout(finish, (most / perSecond) * 1_000);
  response.once('close', () => {
    endedMs ??= performance.now();
    clearTimeout(timer);
  });
  const usage = { input_tokens: 6, output_tokens: most };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-test', content: [] };
  const isStream = body.stream === true;
  if (isStream && hasHead) {
    response.writeHead(200, eventStream);
    response.write(
      event({ type: 'message_start', message: { ...message, usage: { ...usage, output_tokens: 1 } } }),
    );
    response.write(
      event({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }),
    );
  }
  function finish(): void {
    if (isFailing) {
      response.destroy();
    } else if (isStream) {
      response.write(event({ type: 'content_block_stop', index: 0 }));
      response.write(event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }));
      response.end(event({ type: 'message_stop' }));
    } else {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...message, usage }));
    }
  }
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => generate(JSON.parse(Buffer.concat(parts).toString()), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  gateway.connections = [connectionTo(`http://127.0.0.1:${port}`, 'anthropic')];
  gateway.settings = { ...gateway.settings, hold: 'paced' };
  usual = { settings: gateway.settings, connections: gateway.connections };
});
afterAll(() => server.close());
beforeEach(async () => {
  Object.assign(gateway, usual);
  [perSecond, hiddenTokens, hasHead, isFailing] = [300, 300, true, false];
  bill.length = 0;
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
});
afterEach(async () => {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

/** A call for which the worst case costs $1.28. */
function call(more: object = {}, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.url}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': gateway.key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'claude-test',
      max_tokens: 128_000,
      stream: true,
      thinking: { type: 'enabled', budget_tokens: 100_000 },
      messages: [{ role: 'user', content: 'Say hello to the world' }],
      ...more,
    }),
  });
}

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

test('a stream that hides its output holds what can have been generated, and is charged exactly', async () => {
  await gateway.cap('0.1');
  const response = await call();
  expect(response.status).toBe(200);
  // A burst of 2,000 tokens, six seconds at 500 tokens per second, and the input.
  expect(Number(response.headers.get('x-svc-held-usd'))).toBeLessThan(0.051);
  expect(await response.text()).toContain('end_turn');
  expect(await lastRun()).toMatchObject({ output_tokens: 300, status: 'succeeded', marks: [] });
});

test('the hold follows a long call, and a stream whose hold cannot grow ends with an error within its reasoning', async () => {
  hiddenTokens = 100_000;
  await gateway.capAbove(0.07);
  const capNanos = (await gateway.spentNanos()) + 70_000_000n;
  const text = await (await call()).text();
  expect(text).toMatch(/content_block_start.*event: error\n.*"billing_error".*"hold_denied"/s);
  expect(text).not.toMatch(/content_block_stop|stop_reason":"max_tokens|message_stop/);
  const run = await lastRun();
  expect([...(run?.marks ?? [])].sort()).toEqual(['truncated', 'usage_estimated']);
  expect(run?.output_tokens).toBeGreaterThan(2_000);
  expect(run?.output_tokens).toBeGreaterThanOrEqual(bill[0]?.output() ?? Number.POSITIVE_INFINITY);
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
});

test('input of which the provider counts less than was held covers output instead', async () => {
  const messages = [{ role: 'user', content: 'Say hello to the world. '.repeat(4_000) }];
  const first = await call({ messages });
  const heldUsd = Number(first.headers.get('x-svc-held-usd'));
  await first.text();
  // Lists show the latest run first.
  gateway.world.clock.advanceSeconds(1);
  [perSecond, hiddenTokens] = [400, 3_000];
  await gateway.capAbove(heldUsd + 0.005);
  const capNanos = (await gateway.spentNanos()) + BigInt(Math.round((heldUsd + 0.005) * 1e9));
  expect(await (await call({ messages })).text()).toContain('end_turn');
  expect(await lastRun()).toMatchObject({ output_tokens: 3_000, marks: [] });
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
});

test('a call whose response has not begun ends with 402, and is charged by its time', async () => {
  [hiddenTokens, hasHead] = [100_000, false];
  await gateway.capAbove(0.07);
  const capNanos = (await gateway.spentNanos()) + 70_000_000n;
  const response = await call();
  expect(response.status).toBe(402);
  expect(response.headers.get('x-should-retry')).toBe('false');
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'failed', marks: ['usage_estimated'] });
  expect(run?.output_tokens).toBeGreaterThanOrEqual(bill[0]?.output() ?? Number.POSITIVE_INFINITY);
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
});

test('a stream that breaks off is charged by its time instead of its maximum', async () => {
  [isFailing, hiddenTokens] = [true, 300];
  await (await call()).text();
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'failed', marks: ['usage_estimated'] });
  expect(run?.output_tokens).toBeGreaterThanOrEqual(300);
  expect(run?.output_tokens).toBeLessThan(20_000);
});

test('a call that is not streamed gets the maximum that all limits allow, unless its client refuses that', async () => {
  await gateway.capAbove(0.05);
  expect((await call({ stream: false }, { 'x-svc-on-limit': 'refuse' })).status).toBe(402);
  const response = await call({ stream: false, thinking: undefined });
  expect(response.status).toBe(200);
  expect(Number(response.headers.get('x-svc-fitted-max-tokens'))).toBeLessThan(5_000);
  expect(await lastRun()).toMatchObject({ output_tokens: 300, marks: [] });
});

test('a key has a hold of its own, from the next call on', async () => {
  gateway.settings = { ...gateway.settings, hold: 'worst_case' };
  const held = async () => {
    const response = await call();
    await response.text();
    return Number(response.headers.get('x-svc-held-usd'));
  };
  expect(await held()).toBeGreaterThan(1.2);
  const path = `/v1/orgs/${gateway.org.id}/keys`;
  const { json } = await gateway.world.request('GET', path, { key: gateway.org.ownerKey });
  const key = json.data.find(({ scopes }: { scopes: string[] }) => scopes.join() === 'gateway:call');
  await gateway.world.request('PATCH', `${path}/${key.id}`, {
    key: gateway.org.ownerKey,
    body: { hold: 'paced' },
  });
  expect(await held()).toBeLessThan(0.1);
});

test('when a budget becomes tight, calls in progress finish and new ones are denied, whatever their key reserves', async () => {
  [perSecond, hiddenTokens] = [200, 400];
  await gateway.capAbove(0.18);
  // Holds about five cents, and is expected to need two and a half more.
  const first = await call();
  gateway.settings = { ...gateway.settings, reserveForRunning: 60 };
  const second = await call();
  const denied = await call();
  expect([first.status, second.status, denied.status]).toEqual([200, 200, 402]);
  expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await denied.json()).error.message).toMatch(
    /is kept for requests in progress, and this request needs/,
  );
  const path = `/v1/orgs/${gateway.org.id}/keys`;
  const { json } = await gateway.world.request('GET', path, { key: gateway.org.ownerKey });
  const key = json.data.find(({ scopes }: { scopes: string[] }) => scopes.join() === 'gateway:call');
  const change = (body: object) =>
    gateway.world.request('PATCH', `${path}/${key.id}`, { key: gateway.org.ownerKey, body });
  await change({ reserve_for_running: 0 });
  const third = await call();
  await change({ hold: 'worst_case' });
  const whole = await call({ max_tokens: 1_000, thinking: undefined });
  await change({ reserve_for_running: null, hold: null });
  // A call that is not streamed takes all that is left, but not what the others need.
  const plain = await call({ stream: false, thinking: undefined });
  expect([third.status, whole.status, plain.status]).toEqual([402, 402, 402]);
  for (const response of [first, second]) {
    expect(await response.text()).toContain('end_turn');
  }
});

test('twenty calls of 128,000 tokens fit into a budget that the worst case of one exceeds, and never exceed it', async () => {
  hiddenTokens = 100;
  gateway.settings = { ...gateway.settings, reserveForRunning: 0 };
  await gateway.capAbove(1.2);
  const capNanos = (await gateway.spentNanos()) + 1_200_000_000n;
  const responses = await Promise.all(Array.from({ length: 20 }, () => call()));
  expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  for (const response of responses) {
    expect(await response.text()).toContain('end_turn');
  }
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
});

test('calls that are faster than assumed are charged in full, and emit one event for the model', async () => {
  const { world, org } = gateway;
  const hook = { url: 'https://hooks.example.com/purser', events: ['gateway.*'] };
  const path = `/v1/orgs/${org.id}/webhooks`;
  expect((await world.request('POST', path, { key: org.ownerKey, body: hook })).status).toBe(201);
  [perSecond, hiddenTokens] = [40_000, 40_000];
  for (const response of await Promise.all([call(), call(), call()])) {
    expect(await response.text()).toContain('end_turn');
  }
  const runs = (await gateway.runs()).slice(0, 3);
  const fast = { output_tokens: hiddenTokens, marks: ['over_hold'] };
  expect(runs).toMatchObject([fast, fast, fast]);
  const events = await eventually(async () => {
    const found = await world.db.query<{ data: { readonly run_id: string } }>(
      "SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'gateway.pace_exceeded'",
      [org.id],
    );
    expect(found).not.toEqual([]);
    return found;
  });
  expect(events).toMatchObject([
    { data: { model: 'claude-test', connection_id: 'con_anthropic', output_tokens: hiddenTokens } },
  ]);
  expect(runs.map(({ id }) => id)).toContain(events[0]?.data.run_id);
  const { data } = eventSchema('gateway.pace_exceeded').properties;
  expect(compileBody(data as TObject)(events[0]?.data)).toEqual([]);
});
