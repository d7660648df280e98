import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary, type Send, sender } from '../../../../test/support/limits.ts';
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import { type Database, DatabaseUnavailable } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { createIds } from '../../../platform/ids.ts';
import { createRefusals } from './refusals.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send: Send = sender(
  () => world,
  () => `/v1/orgs/${org.id}`,
  () => org.ownerKey,
);
const write = () => world.runJob('record-refusals');
const run = (body: object) => world.request('POST', '/v1/runs', { key: org.ownerKey, body });
const listed = async (query = '') => (await send('GET', `/refusals${query}`)).json.data;

describe('a denied request', () => {
  test('a denied request is listed with its cause, the latest first, and counted with equal denials', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '1' });
    const body = { model: 'large', cost_usd: '2', workflow: 'triage', customer_id: 'acme', action: 'chat' };
    for (let i = 0; i < 3; i += 1) {
      expect((await run(body)).status).toBe(402);
    }
    world.clock.advanceSeconds(1);
    expect((await run({ model: 'small', cost_usd: '2' })).status).toBe(402);
    await write();
    const [latest, first] = await listed();
    expect(latest).toMatchObject({ model: 'small', workflow: null, count: 1 });
    expect(first).toMatchObject({
      code: 'spend_cap_exceeded',
      operation: 'runs.create',
      ...{ model: 'large', workflow: 'triage', customer_id: 'acme', action: 'chat' },
      count: 3,
      details: { cap_usd: '1', spent_usd: '0', attempted_usd: '2' },
    });
  });

  test('a denied request is also listed for the edge, and for bulk requests with the denied run', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '1' });
    const key = org.ownerKey;
    const decision = { model: 'm', estimated_cost_usd: '2' };
    expect((await world.request('POST', '/v1/edge/decision', { key, body: decision })).status).toBe(402);
    const runs = [
      { model: 'fine', cost_usd: '0.1' },
      { model: 'dear', cost_usd: '3' },
    ];
    expect((await world.request('POST', '/v1/runs/bulk', { key, body: { runs } })).status).toBe(402);
    await write();
    expect((await listed()).map((row: Record<string, string>) => [row.operation, row.model]).sort()).toEqual([
      ['edge.decide', 'm'],
      ['runs.create_bulk', 'dear'],
    ]);
  });

  test('a denied request is stored without content', async () => {
    await send('PATCH', '/safety-detectors/email', { enabled: true, action: 'block' });
    expect((await run({ model: 'm', cost_usd: '0', content: 'ask jo@example.com' })).status).toBe(403);
    await write();
    expect(await listed()).toMatchObject([
      { code: 'content_safety_blocked', details: { detector: 'email' } },
    ]);
    expect(JSON.stringify(await listed())).not.toContain('example.com');
  });

  test('a denied request can be filtered by its fields', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '0' });
    for (const model of ['a', 'b']) {
      await run({ model, cost_usd: '1' });
    }
    await write();
    expect(await listed('?model=a')).toHaveLength(1);
    expect(await listed('?code=spend_cap_exceeded')).toHaveLength(2);
    expect(await listed('?code=budget_exceeded')).toEqual([]);
    expect(errorSummary(await send('GET', '/refusals?code=internal'))).toEqual([
      422,
      'validation_failed',
      'code invalid_value',
    ]);
  });
});

describe('a denied request can be found', () => {
  const traceOf = (answer: { readonly headers: object }) =>
    (answer.headers as Record<string, string>)['x-svc-trace-id'];
  const idsOf = async (query: string) => (await listed(query)).map(({ id }: { id: string }) => id);

  test('a denied request can be found by the trace id of each of the requests that were counted together', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '0' });
    const key = org.ownerKey;
    const traces = [
      traceOf(await run({ model: 'm', cost_usd: '1' })),
      traceOf(await run({ model: 'm', cost_usd: '1' })),
    ];
    const decision = { model: 'm', estimated_cost_usd: '1' };
    const edge = traceOf(await world.request('POST', '/v1/edge/decision', { key, body: decision }));
    await write();
    const [id] = await idsOf(`?trace_id=${traces[1]}`);
    expect(await idsOf(`?trace_id=${String(traces[0]).toUpperCase()}`)).toEqual([id]);
    expect(await listed(`?trace_id=${edge}`)).toMatchObject([{ operation: 'edge.decide', trace_id: edge }]);
    expect(await listed(`?trace_id=${'0'.repeat(32)}`)).toEqual([]);
    expect((await send('GET', `/refusals/${id}`)).json).toMatchObject({
      id,
      count: 2,
      trace_id: traces[0],
      trace_ids: traces,
    });
    expect(errorSummary(await send('GET', `/refusals?trace_id=${'x'.repeat(32)}`))).toEqual([
      422,
      'validation_failed',
      'trace_id invalid_format',
    ]);
  });

  test('up to a number of trace ids, while all denials are counted', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '0' });
    for (let i = 0; i < 102; i += 1) {
      await run({ model: 'm', cost_usd: '1' });
    }
    await write();
    const [entry] = await listed();
    expect(entry.count).toBe(102);
    const { trace_ids } = (await send('GET', `/refusals/${entry.id}`)).json;
    expect(new Set(trace_ids).size).toBe(100);
  });

  test('a denied request can be found by key, limit and time range', async () => {
    const { id: limit_id } = (
      await send('POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'day', limit_usd: '0' })
    ).json;
    const other = await world.mintKey(org, 'member', ['runs:write']);
    const at = world.clock.now();
    await run({ model: 'm', cost_usd: '1' });
    world.clock.advanceSeconds(60);
    await world.request('POST', '/v1/runs', { key: other.secret, body: { model: 'm', cost_usd: '1' } });
    await write();
    const [second, first] = await idsOf('');
    const time = (seconds: number) =>
      encodeURIComponent(new Date(at.getTime() + seconds * 1_000).toISOString());
    expect(await idsOf(`?key_id=${other.id}`)).toEqual([second]);
    expect(await idsOf(`?limit_id=${limit_id}`)).toEqual([second, first]);
    expect(await idsOf(`?from=${time(30)}`)).toEqual([second]);
    expect(await idsOf(`?to=${time(30)}`)).toEqual([first]);
    expect(await idsOf(`?from=${time(0)}&to=${time(60)}`)).toEqual([first]);
    expect(await idsOf(`?from=${time(61)}`)).toEqual([]);
    expect(errorSummary(await send('GET', '/refusals?from=yesterday'))).toEqual([
      422,
      'validation_failed',
      'from invalid_format',
    ]);
  });

  test('a denied request can be found by its id, only in its own org', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '0' });
    await run({ model: 'm', cost_usd: '1' });
    await write();
    const [id] = await idsOf('');
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}/refusals/${id}`;
    expect((await world.request('GET', path, { key: other.ownerKey })).status).toBe(404);
    expect((await send('GET', '/refusals/rfl_none')).status).toBe(404);
  });
});

describe('the cause of a denied request', () => {
  /** Reads the latest denial as a member that may read nothing but runs. */
  async function latestAsMember() {
    await write();
    const { secret } = await world.mintKey(org, 'member', ['runs:read']);
    const get = (path: string) => world.request('GET', `/v1/orgs/${org.id}${path}`, { key: secret });
    const [{ id }] = (await get('/refusals')).json.data;
    return (await get(`/refusals/${id}`)).json;
  }

  test('the cause of a denied request is the limit with its name and owner, also after it was deleted', async () => {
    const owner = 'finance@example.com';
    const budget = {
      name: 'Triage',
      scope_kind: 'workflow',
      scope_id: 'triage',
      period: 'month',
      limit_usd: '1',
    };
    const { id } = (await send('POST', '/budgets', { ...budget, owner })).json;
    await run({ model: 'm', cost_usd: '2', workflow: 'triage' });
    expect(await latestAsMember()).toMatchObject({
      code: 'budget_exceeded',
      limit_id: id,
      cause: { kind: 'budget', id, name: 'Triage', owner, deleted: false },
    });
    await send('PATCH', `/budgets/${id}`, { owner: '#ai-spend' });
    expect((await latestAsMember()).cause.owner).toBe('#ai-spend');
    await send('DELETE', `/budgets/${id}`);
    expect((await latestAsMember()).cause).toMatchObject({ name: 'Triage', deleted: true });
  });

  test('the cause of a denied request is the spend cap, the quota, the rule or the detector', async () => {
    const { id: capId } = (await send('PUT', '/spend-cap', { cap_usd: '1', owner: '#ops' })).json;
    await run({ model: 'm', cost_usd: '2' });
    expect((await latestAsMember()).cause).toMatchObject({ kind: 'spend_cap', id: capId, owner: '#ops' });
    const rule = {
      effect: 'block',
      models: ['x'],
      priority: 1,
      reason: 'No.',
      owner: 'security@example.com',
    };
    const { id: ruleId } = (await send('POST', '/policies', rule)).json;
    world.clock.advanceSeconds(1);
    await run({ model: 'x', cost_usd: '0' });
    expect((await latestAsMember()).cause).toEqual({
      kind: 'policy',
      id: ruleId,
      name: 'No.',
      owner: 'security@example.com',
      deleted: false,
    });
    expect(await listed(`?rule_id=${ruleId}`)).toHaveLength(1);
    await send('PATCH', '/safety-detectors/email', { enabled: true, action: 'block' });
    world.clock.advanceSeconds(1);
    await run({ model: 'm', cost_usd: '0', content: 'jo@example.com' });
    expect((await latestAsMember()).cause).toMatchObject({ kind: 'detector', id: 'email', owner: null });
    const quota = { name: 'Night', unit: 'usd', limit: '0.5', window_seconds: 3_600, kind: 'quota' };
    await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: { policies: [quota] },
    });
    world.clock.advanceSeconds(1);
    await run({ model: 'm', cost_usd: '0.6' });
    expect(await latestAsMember()).toMatchObject({
      code: 'quota_exhausted',
      cause: { kind: 'quota', name: 'Night' },
    });
  });

  test('the cause of a denied request of an entry from before an upgrade is found in its details', async () => {
    const budget = { name: 'Old', scope_kind: 'org', period: 'month', limit_usd: '1' };
    const { id } = (await send('POST', '/budgets', budget)).json;
    await world.db.query(
      `INSERT INTO refusals (org_id, id, code, message, operation, key_id, details, count, first_at, last_at)
       VALUES ($1, 'rfl_old', 'budget_exceeded', '', 'runs.create', 'key', $2, 1, now(), now())`,
      [org.id, JSON.stringify({ budget_id: id })],
    );
    expect((await send('GET', '/refusals/rfl_old')).json).toMatchObject({
      limit_id: id,
      trace_id: null,
      trace_ids: [],
      cause: { name: 'Old' },
    });
    expect(await listed(`?limit_id=${id}`)).toHaveLength(1);
  });
});

test('invalid requests are not listed', async () => {
  expect((await run({ model: 'm', cost_usd: 'much' })).status).toBe(422);
  expect((await send('GET', '/budgets/none')).status).toBe(404);
  await write();
  expect(await listed()).toEqual([]);
});

test('entries that could not be written are written later, once', async () => {
  await send('PUT', '/spend-cap', { cap_usd: '0' });
  await run({ model: 'm', cost_usd: '1' });
  await world.db.query('ALTER TABLE refusals RENAME TO refusals_away', []);
  await expect(write()).rejects.toThrow();
  await world.db.query('ALTER TABLE refusals_away RENAME TO refusals', []);
  await run({ model: 'm', cost_usd: '1' });
  await write();
  await write();
  expect((await listed()).map(({ count }: { count: number }) => count)).toEqual([1, 1]);
});

test('denials are counted once if the entries were written and the answer to that was lost', async () => {
  let losesAnswer = true;
  const db: Database = {
    ...world.db,
    async query(sql, params) {
      const rows = await world.db.query(sql, params);
      if (losesAnswer && sql.includes('INSERT INTO refusals')) {
        throw new DatabaseUnavailable('the answer was lost');
      }
      return rows as never;
    },
  };
  const refusals = createRefusals({ db, ids: createIds(world.clock), clock: world.clock });
  const caller = { tenantId: org.id, keyId: 'key_x' } as Caller;
  const deny = (model: string) =>
    refusals.note({
      error: apiErrorWithDetails('spend_cap_exceeded', {
        cap_usd: '1',
        spent_usd: '1',
        attempted_usd: '1',
      } as never),
      operation: 'runs.create',
      caller,
      traceId: '0'.repeat(32),
      body: { model },
    });
  deny('again');
  deny('once');
  await expect(refusals.job.runOnce()).rejects.toThrow('the answer was lost');
  deny('again');
  await expect(refusals.job.runOnce()).rejects.toThrow('the answer was lost');
  deny('again');
  losesAnswer = false;
  await refusals.job.runOnce();
  const counts = new Map<string, number>();
  for (const { model, count } of await listed()) {
    counts.set(model, (counts.get(model) ?? 0) + count);
  }
  expect(counts).toEqual(
    new Map([
      ['again', 3],
      ['once', 1],
    ]),
  );
});

test('the latest 1,000 entries of an org are kept', async () => {
  const other = await world.createOrg();
  const insert = (orgId: string) =>
    world.db.query(
      `INSERT INTO refusals SELECT $1, 'rfl_0' || lpad(n::text, 6, '0'), 'budget_exceeded', '', 'runs.create', 'key', null,
              null, null, null, '{}', 1, now(), now() FROM generate_series(1, 1005) AS n`,
      [orgId],
    );
  await insert(org.id);
  await insert(other.id);
  await send('PUT', '/spend-cap', { cap_usd: '0' });
  await run({ model: 'm', cost_usd: '1' });
  await write();
  const kept = await world.db.query<{ org_id: string; count: bigint }>(
    'SELECT org_id, count(*)::int8 AS count FROM refusals WHERE org_id = ANY($1) GROUP BY org_id',
    [[org.id, other.id]],
  );
  expect(Object.fromEntries(kept.map(({ org_id, count }) => [org_id, Number(count)]))).toEqual({
    [org.id]: 1_000,
    [other.id]: 1_005,
  });
});
