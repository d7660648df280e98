/** The client against a running service: operations, retries, timeouts, errors and lists. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../test/harness.ts';
import { operations } from './generated/operations.ts';
import {
  createPurser,
  type Purser,
  PurserApiError,
  PurserConnectionError,
  PurserTimeoutError,
} from './index.ts';

const world = useWorld();
const org = useOrg(world);
let url: string;
let purser: Purser;
/** Requests that reached the service or its stand-in: method, path and idempotency key. */
const sent: { method: string; path: string; key: string | null }[] = [];
/** Replaces the answer to the n-th request. */
let fault: ((attempt: number) => Promise<Response | undefined> | undefined) | undefined;

const counted: typeof fetch = async (input, init) => {
  const { pathname, search } = new URL(String(input));
  const key = new Headers(init?.headers).get('idempotency-key');
  sent.push({ method: init?.method ?? '', path: pathname + search, key });
  return (await fault?.(sent.length)) ?? fetch(input, init);
};

const envelope = (status: number, code: string, headers: Record<string, string> = {}) =>
  Promise.resolve(
    new Response(JSON.stringify({ error: { code, message: 'No.', details: {} } }), { status, headers }),
  );

beforeAll(async () => {
  ({ url } = await world.listen());
  // No test is about its duration.
  purser = createPurser({ url, key: org.ownerKey, fetch: counted, requestTimeoutMs: 600_000 });
});
afterEach(() => {
  sent.length = 0;
  fault = undefined;
});

const workflowBudget = {
  name: 'Support',
  scope_kind: 'workflow',
  scope_id: 'support',
  period: 'month',
  limit_usd: '100',
} as const;

async function apiErrorOf(call: PromiseLike<unknown>): Promise<PurserApiError> {
  const error = await Promise.resolve(call).then(
    () => expect.fail('the request succeeded'),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(PurserApiError);
  return error as PurserApiError;
}

test('every operation of the document is a method', () => {
  for (const id of Object.keys(operations)) {
    const method = id.split('.').reduce<unknown>((place, name) => (place as never)[name], purser);
    expect(method, id).toBeTypeOf('function');
  }
});

test('creates, reads, changes, lists and deletes a resource', async () => {
  const budget = await purser.budgets.create(org.id, workflowBudget);
  expect(await purser.budgets.read(org.id, budget.id)).toEqual(budget);
  expect((await purser.budgets.change(org.id, budget.id, { limit_usd: '150' })).limit_usd).toBe('150');
  expect((await purser.budgets.list(org.id, { scope_kind: 'workflow' })).data.map(({ id }) => id)).toEqual([
    budget.id,
  ]);
  expect(await purser.budgets.delete(org.id, budget.id)).toBeUndefined();
  expect((await apiErrorOf(purser.budgets.read(org.id, budget.id))).code).toBe('not_found');
  expect(sent.filter(({ method }) => method !== 'GET').every(({ key }) => key !== null)).toBe(true);
});

test('iterates over the rows and pages of a list, and sends nothing before', async () => {
  for (let number = 0; number < 5; number += 1) {
    await purser.runs.create({ model: 'gpt-4o', cost_usd: '0.01', external_id: `page-${number}` });
  }
  sent.length = 0;
  const list = purser.runs.list({ limit: 2 });
  expect(sent).toEqual([]);
  const ids: (string | null)[] = [];
  for await (const run of list) {
    ids.push(run.external_id ?? null);
  }
  expect(ids.toSorted()).toEqual(['page-0', 'page-1', 'page-2', 'page-3', 'page-4']);
  expect(sent).toHaveLength(3);
  const sizes: number[] = [];
  for await (const { data } of purser.runs.list({ limit: 4 }).pages()) {
    sizes.push(data.length);
  }
  expect(sizes).toEqual([4, 1]);
});

test('an error has the code, the status, typed details and the trace of the service', async () => {
  const error = await apiErrorOf(purser.budgets.create(org.id, { ...workflowBudget, limit_usd: 'much' }));
  expect(error.is('not_found')).toBe(false);
  if (!error.is('validation_failed')) {
    throw error;
  }
  expect(error.details.fields[0]?.field).toBe('limit_usd');
  expect([error.status, error.traceId]).toEqual([422, expect.stringMatching(/./)]);
  expect(sent).toHaveLength(1);
});

test('retries with the same idempotency key, also if the answer was lost, and has one effect', async () => {
  fault = async (attempt) => {
    if (attempt > 2) {
      return undefined;
    }
    if (attempt === 1) {
      return envelope(503, 'service_unavailable', { 'retry-after': '0' });
    }
    const { key, path } = sent[1] as (typeof sent)[number];
    await world.request('POST', path, {
      key: org.ownerKey,
      body: { ...workflowBudget, name: 'Once' },
      headers: { 'idempotency-key': key ?? '' },
    });
    throw new TypeError('fetch failed');
  };
  const budget = await purser.budgets.create(org.id, { ...workflowBudget, name: 'Once' });
  expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  expect(sent).toHaveLength(3);
  const all = (await purser.budgets.list(org.id)).data.filter(({ name }) => name === 'Once');
  expect(all.map(({ id }) => id)).toEqual([budget.id]);
});

test.each([
  [429, 'rate_limited', '0', 3],
  [409, 'idempotency_key_processing', '0', 3],
  [429, 'rate_limited', '3600', 1],
  [429, 'quota_exhausted', undefined, 1],
  [402, 'budget_exceeded', undefined, 1],
  [500, 'internal', undefined, 1],
])('status %i %s with Retry-After %s is sent %i times', async (status, code, retryAfter, times) => {
  fault = () => envelope(status, code, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  expect((await apiErrorOf(purser.runs.list())).code).toBe(code);
  expect(sent).toHaveLength(times);
});

test('an answer of a proxy without the envelope is an error of the API, too', async () => {
  fault = () => Promise.resolve(new Response('<h1>Bad gateway</h1>', { status: 502 }));
  expect(await apiErrorOf(purser.runs.list({}, { maxRetries: 0 }))).toMatchObject({
    status: 502,
    code: 'service_unavailable',
  });
});

test('a service that cannot be reached or does not answer is a connection error, and an abort is passed on', async () => {
  const silent: Server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const impatient = createPurser({ url: silentUrl, key: 'svc_x', requestTimeoutMs: 20, maxRetries: 1 });
  await expect(impatient.meta.errors()).rejects.toBeInstanceOf(PurserTimeoutError);
  const abort = new AbortController();
  const aborted = impatient.meta.errors({ signal: abort.signal, timeoutMs: 60_000 });
  abort.abort(new Error('left'));
  await expect(aborted).rejects.toThrow('left');
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
  await expect(impatient.meta.errors({ maxRetries: 0 })).rejects.toBeInstanceOf(PurserConnectionError);
});

test('other formats than JSON are returned as responses', async () => {
  world.clock.advanceSeconds(60);
  const from = new Date(world.clock.now().getTime() - 86_400_000).toISOString();
  const exported = await purser.audit.export(org.id, { from, to: world.clock.now().toISOString() });
  expect(exported.headers.get('content-type')).toContain('ndjson');
  expect(await exported.text()).toContain('budget');
  const csv = await purser.request('GET', `/v1/orgs/${org.id}/usage`, { query: { format: 'csv' } });
  expect(await csv.text()).toContain('cost_usd');
});

test('an empty id is rejected before it could name another path', () => {
  expect(() => purser.budgets.read(org.id, '')).toThrow(TypeError);
});

test('a client without a key, or with a fail mode that does not exist, is not created', () => {
  expect(() => createPurser({ url, key: undefined as never })).toThrow('PURSER_KEY');
  expect(() => createPurser({ url, key: 'x', failMode: 'ajar' as never })).toThrow('fail mode');
});
