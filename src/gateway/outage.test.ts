/** Calls while the database is unavailable, in each fail mode that an operator can choose. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { World } from '../../test/harness.ts';
import { eventually } from '../../test/support/eventually.ts';
import { type ConnectedWorld, createConnectedWorld } from '../../test/support/gateway-world.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';

let gateway: ConnectedWorld;
afterEach(() => gateway?.close());

async function begin(mode: 'open' | 'closed', env: Record<string, string> = {}): Promise<void> {
  gateway = await createConnectedWorld({ SVC_EDGE_FAIL_MODE: mode, ...env });
  const { provider, connect } = gateway;
  await connect({ name: 'openai', kind: 'openai', base_url: `${provider.url}/v1` });
  await connect({ name: 'anthropic', kind: 'anthropic', base_url: provider.url });
  // On a busy machine change notifications may be late: what is read then is not cached for the outage.
  await eventually(() => expect(gateway.world.db.notificationsHealthy()).toBe(true));
}

const messages = [{ role: 'user', content: 'Say hello to the world' }];

async function send(shape: 'chat' | 'messages', more: object = {}, key?: string): Promise<Response> {
  const { url } = await gateway.world.listen();
  const [path, model] =
    shape === 'chat'
      ? ['/openai/v1/chat/completions', 'gpt-test']
      : ['/anthropic/v1/messages', 'claude-test'];
  return fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: JSON.stringify({ model, max_tokens: 50, messages, ...more }),
  });
}

const ofOrg = (path: string) => gateway.world.request('GET', path, { key: gateway.org.ownerKey });
const runs = async () => (await ofOrg('/v1/runs?limit=200')).json.data;
const holds = async () => (await ofOrg(`/v1/orgs/${gateway.org.id}/holds`)).json.data;

/** Makes the database and the ledger fail, and bypasses all caches. Returns a function that restores them. */
function takeAway({ db, services: { ledger } }: World): () => void {
  const away = () => Promise.reject(new DatabaseUnavailable('away'));
  const before = {
    db: { query: db.query, transaction: db.transaction, notificationsHealthy: db.notificationsHealthy },
    ledger: { hold: ledger.hold, decide: ledger.decide, post: ledger.post, increase: ledger.increase },
  };
  Object.assign(db, { query: away, transaction: away, notificationsHealthy: () => false });
  Object.assign(ledger, { hold: away, decide: () => undefined, post: away, increase: away });
  return () => {
    Object.assign(db, before.db);
    Object.assign(ledger, before.ledger);
  };
}

test('closed: calls are 503 in the format of the provider, and do not reach the provider', async () => {
  await begin('closed');
  expect([(await send('chat')).status, (await send('messages')).status]).toEqual([200, 200]);
  const restore = takeAway(gateway.world);
  const chat = await send('chat');
  expect([chat.status, chat.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await chat.json()).error).toMatchObject({ type: 'api_error', code: 'service_unavailable' });
  const claude = await send('messages');
  expect(await claude.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  expect(gateway.provider.requests).toHaveLength(2);
  restore();
  expect((await send('chat')).status).toBe(200);
});

test.each(['the same process', 'the next process'])(
  'open: calls are allowed, and posted as degraded by %s',
  async (by) => {
    await begin('open');
    expect([(await send('chat')).status, (await send('messages')).status]).toEqual([200, 200]);
    gateway.provider.bill.length = 0;
    const restore = takeAway(gateway.world);
    for (const more of [{}, { stream: true }]) {
      for (const shape of ['chat', 'messages'] as const) {
        const response = await send(shape, more);
        expect([response.status, response.headers.get('x-svc-cost-usd')]).toEqual([200, null]);
        await response.text();
      }
    }
    restore();
    if (by === 'the next process') {
      gateway.world = await gateway.world.restart();
    }
    await gateway.world.runJob('import-fail-open-decisions');
    await gateway.world.runJob('retry-gateway-settlements');
    const degraded = (await runs()).filter(({ marks }: { marks: string[] }) => marks.includes('degraded'));
    expect(degraded).toHaveLength(4);
    for (const { status, input_tokens, output_tokens, marks } of degraded) {
      expect({ status, input_tokens, output_tokens, marks }).toEqual({
        status: 'succeeded',
        input_tokens: gateway.provider.bill[0]?.inputTokens,
        output_tokens: 5,
        marks: ['degraded'],
      });
    }
    expect(await holds()).toEqual([]);
    const { json } = await ofOrg(`/v1/orgs/${gateway.org.id}/ledger/reconciliation`);
    expect(json.balanced).toBe(true);
  },
);

test.each([
  ['open', 'continues', 40, '"end_turn"', []],
  // The lead grows while a busy machine is late, so the stream lasts longer than any lead.
  ['closed', 'is ended', 20_000, '"max_tokens"', ['truncated', 'usage_estimated']],
] as const)('%s: a stream whose hold follows its time %s', async (mode, _, output, end, marks) => {
  await begin(mode, { SVC_GATEWAY_HOLD_LEAD_MS: '200' });
  const { world, org, provider } = gateway;
  const settings = { key: org.ownerKey, body: { hold: 'paced' } };
  expect((await world.request('PUT', `/v1/orgs/${org.id}/gateway`, settings)).status).toBe(200);
  await (await send('messages')).text();
  // Lists show the latest run first.
  world.clock.advanceSeconds(1);
  provider.outputOf = () => output;
  provider.beforeChunk = () => setTimeout(50);
  const response = await send('messages', { stream: true, max_tokens: 100_000 });
  const restore = takeAway(world);
  expect(await response.text()).toContain(end);
  restore();
  await world.runJob('retry-gateway-settlements');
  expect(await holds()).toEqual([]);
  const [run] = await runs();
  // A busy machine may end the stream later than its hold covers: such a cost is marked.
  expect(run.marks.filter((mark: string) => mark !== 'over_hold').sort()).toEqual(marks);
  expect(run.output_tokens).toBeGreaterThanOrEqual(mode === 'open' ? 40 : 1);
});

const codeOf = async (response: Response) => [response.status, (await response.json()).error.code];

test('closed: a call with an idempotency key is 503, and is sent once the database is back', async () => {
  await begin('closed');
  expect((await send('chat')).status).toBe(200);
  const restore = takeAway(gateway.world);
  expect(await codeOf(await send('chat', {}, 'once'))).toEqual([503, 'service_unavailable']);
  restore();
  expect((await send('chat', {}, 'once')).status).toBe(200);
  expect(await codeOf(await send('chat', {}, 'once'))).toEqual([409, 'idempotency_key_used']);
  expect(gateway.provider.requests).toHaveLength(2);
});

test.each(['the same process', 'the next process'])(
  'open: a call with an idempotency key is sent once, also if it is repeated through %s after the outage',
  async (by) => {
    await begin('open');
    expect((await send('chat')).status).toBe(200);
    const restore = takeAway(gateway.world);
    const first = await send('chat', {}, 'once');
    expect(first.status).toBe(200);
    const during = await send('chat', {}, 'once');
    expect(await codeOf(during)).toEqual([409, 'idempotency_key_processing']);
    expect(await codeOf(await send('chat', { max_tokens: 51 }, 'once'))).toEqual([
      409,
      'idempotency_key_conflict',
    ]);
    restore();
    if (by === 'the next process') {
      gateway.world = await gateway.world.restart();
    }
    await gateway.world.runJob('import-fail-open-decisions');
    await gateway.world.runJob('retry-gateway-settlements');
    const after = await send('chat', {}, 'once');
    expect(await codeOf(after)).toEqual([409, 'idempotency_key_used']);
    const named = [first, during, after].map(({ headers }) => headers.get('x-svc-run-id'));
    expect(named).toEqual(Array(3).fill(expect.stringMatching(/^dec_/)));
    expect(new Set(named).size).toBe(1);
    expect(gateway.provider.requests).toHaveLength(2);
  },
);

test('open: a call that failed at no cost during the outage can be repeated after it', async () => {
  await begin('open');
  expect((await send('chat')).status).toBe(200);
  const restore = takeAway(gateway.world);
  gateway.provider.fault = () => ({ status: 400 });
  expect((await send('chat', {}, 'free')).status).toBe(400);
  gateway.provider.fault = undefined;
  restore();
  await gateway.world.runJob('import-fail-open-decisions');
  await gateway.world.runJob('retry-gateway-settlements');
  expect((await send('chat', {}, 'free')).status).toBe(200);
  expect(gateway.provider.requests).toHaveLength(3);
});
