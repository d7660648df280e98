/** Budgets by each kind of scope, over HTTP. `src/ledger/scopes.test.ts` has the guarantees of the ledger. */
import { beforeEach, describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary } from '../../../../test/support/limits.ts';
import { dimensionScopeKinds } from '../../../contract/run-dimensions.ts';
import { matchFieldOf } from '../../../kernel/scope-kinds.ts';
import { readMigrations } from '../../../platform/db/migrate.ts';

const world = useWorld();
const org = useOrgPerTest(world);
let keyId: string;
beforeEach(async () => {
  keyId = (await own('GET', 'keys')).json.data[0].id;
});

const call = (method: string, path: string, body?: object) =>
  world.request(method, path, { key: org.ownerKey, ...(body && { body }) });
const own = (method: string, path: string, body?: object) => call(method, `/v1/orgs/${org.id}/${path}`, body);
const budget = async (scope_kind: string, scope_id: string, limit_usd: string, more: object = {}) => {
  const name = `${scope_kind} ${scope_id}`;
  const body = { name, scope_kind, scope_id, period: 'month', limit_usd, ...more };
  const { status, json } = await own('POST', 'budgets', body);
  expect([status, json.scope_kind, json.scope_id]).toEqual([201, scope_kind, scope_id]);
  return json.id as string;
};
const run = (cost_usd: string, fields: object) =>
  call('POST', '/v1/runs', { model: 'm', cost_usd, ...fields });
const decide = (estimated_cost_usd: string, fields: object) =>
  call('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd, ...fields });
const expectBalanced = async () =>
  expect((await own('GET', 'ledger/reconciliation')).json).toMatchObject({ balanced: true, drift_usd: '0' });

/** Each kind with a run that has the value `a`, and one with another value; `key` is tested apart. */
const kinds: [string, object, object][] = [
  ...dimensionScopeKinds
    .filter((kind) => kind !== 'key')
    .map((kind): [string, object, object] => {
      const field = matchFieldOf(kind) ?? kind;
      return [kind, { [field]: 'a' }, { [field]: 'b' }];
    }),
  ['tag:env', { tags: { env: 'a', other: 'a' } }, { tags: { env: 'b' } }],
];

describe.each(kinds)('a budget by %s', (kind, fitting, other) => {
  test('limits decisions, runs and bulk requests with its value, and counts earlier spend', async () => {
    expect((await run('1', fitting)).status).toBe(201);
    const id = await budget(kind, 'a', '3');
    const denied = { status: 402, json: { error: { code: 'budget_exceeded' } } };
    expect(await run('2.5', fitting)).toMatchObject(denied);
    const refused = await decide('2.5', fitting);
    expect(refused).toMatchObject(denied);
    expect(refused.json.error.details).toMatchObject({ budget_id: id, scope_kind: kind, spent_usd: '1' });
    expect((await decide('50', other)).status).toBe(200);
    expect((await run('50', other)).status).toBe(201);
    const runs = [fitting, other, fitting].map((fields) => ({ model: 'm', cost_usd: '1.5', ...fields }));
    expect(await call('POST', '/v1/runs/bulk', { runs })).toMatchObject({
      ...denied,
      json: { error: { details: { run_index: 2, scope_kind: kind } } },
    });
    const { json: held } = await decide('2', fitting);
    expect((await run('1.5', { decision_id: held.decision_id, model: 'any' })).status).toBe(201);
    expect((await run('0.6', fitting)).status).toBe(402);
    expect((await run('0.5', fitting)).status).toBe(201);
    const [listed] = (await own('GET', `budgets?scope_kind=${encodeURIComponent(kind)}&scope_id=a`)).json
      .data;
    expect(listed).toMatchObject({ id, scope_kind: kind, scope_id: 'a' });
    const usage = (await own('GET', 'limits')).json.data.find((limit: { id: string }) => limit.id === id);
    expect(usage.standing).toMatchObject({ settled: '3', held: '0', remaining: '0' });
    await expectBalanced();
  });

  test('with `*` has its own amount for each value, beside a budget of one value', async () => {
    await budget(kind, '*', '3');
    await budget(kind, 'a', '2');
    expect((await run('3', other)).status).toBe(201);
    expect((await decide('0.1', other)).status).toBe(402);
    expect((await decide('2.1', fitting)).status).toBe(402);
    expect((await decide('2', fitting)).status).toBe(200);
    if (kind !== 'model') {
      expect((await run('100', {})).status).toBe(201);
    }
    await expectBalanced();
  });
});

test('a budget by key limits one key, or each of them', async () => {
  const second = (
    await own('POST', 'keys', { name: 'b', role: 'admin', scopes: ['runs:write', 'edge:decide'] })
  ).json;
  const as = (key: string, cost_usd: string) =>
    world.request('POST', '/v1/runs', { key, body: { model: 'm', cost_usd } });
  await budget('key', keyId, '1');
  await budget('key', '*', '2');
  expect((await as(org.ownerKey, '1.5')).json.error.details.scope_kind).toBe('key');
  expect((await as(org.ownerKey, '1')).status).toBe(201);
  expect((await as(second.secret, '2')).status).toBe(201);
  expect((await as(second.secret, '0.1')).status).toBe(402);
  await expectBalanced();
});

test('a value named `*` is counted once', async () => {
  const id = await budget('team', '*', '3');
  expect((await run('2', { team: '*' })).status).toBe(201);
  expect((await run('1.5', { team: '*' })).json.error.details).toMatchObject({
    budget_id: id,
    spent_usd: '2',
  });
  await expectBalanced();
});

test('backfilled runs, adjustments and late settlements count by tag, team and member', async () => {
  const fields = { team: 't', member_id: 'mem_1', provider: 'p', tags: { env: 'prod' } };
  for (const [kind, id] of [
    ['team', 't'],
    ['member', 'mem_1'],
    ['provider', 'p'],
    ['tag:env', 'prod'],
  ] as const) {
    await budget(kind, id, '10', { enforcement: 'alert' });
  }
  const { json: charged } = await run('1', fields);
  await call('POST', `/v1/runs/${charged.id}/adjustments`, { amount_usd: '-0.25', reason: 'credit' });
  const started_at = world.clock.now().toISOString();
  await call('POST', '/v1/runs/bulk?enforcement=record', {
    runs: [{ model: 'm', cost_usd: '2', started_at, ...fields }],
  });
  const { json: decision } = await decide('1', { ...fields, expires_in_seconds: 1 });
  world.clock.advanceSeconds(5);
  await world.runJob('expire-holds');
  const late = await run('4', { decision_id: decision.decision_id, tags: { env: 'test', step: 's' } });
  expect(late.json).toMatchObject({
    marks: ['late'],
    team: 't',
    member_id: 'mem_1',
    tags: { env: 'prod', step: 's' },
  });
  const { data } = (await own('GET', 'limits')).json;
  expect(data.map(({ standing }: { standing: { settled: string } }) => standing.settled)).toEqual(
    Array(4).fill('6.75'),
  );
  await expectBalanced();
});

test('an erased customer stays counted by the tags that budgets name, without its id', async () => {
  const byEnv = await budget('tag:env', 'prod', '10');
  await budget('tag:user', '*', '10');
  const byId = await budget('tag:account', 'customer-77', '10');
  const tags = { env: 'prod', user: 'user customer-77', account: 'customer-77', email: 'a@example.com' };
  const fields = { customer_id: 'customer-77', tags };
  await run('1', fields);
  const { json: open } = await decide('2', fields);
  const { json: ended } = await decide('3', { ...fields, expires_in_seconds: 1 });
  world.clock.advanceSeconds(5);
  await world.runJob('expire-holds');
  expect((await own('DELETE', 'customers/customer-77')).status).toBe(204);
  const [erasure] = (await own('GET', 'customer-erasures')).json.data;
  await run('1', { decision_id: open.decision_id, tags });
  await run('1', { decision_id: ended.decision_id, tags });
  const entries = await world.db.query<{ tags: object }>(
    'SELECT tags FROM ledger_entries WHERE org_id = $1',
    [org.id],
  );
  const kept = { env: 'prod', user: `user ${erasure.pseudonym}` };
  expect(entries.map((entry) => entry.tags)).toEqual([kept, kept, kept]);
  const { data } = (await own('GET', 'limits')).json;
  expect(data.map(({ id }: { id: string }) => id)).not.toContain(byId);
  const { standing } = data.find(({ id }: { id: string }) => id === byEnv);
  expect(standing).toMatchObject({ settled: '3', held: '0' });
  await expectBalanced();
  for (const table of ['ledger_entries', 'hold_ends', 'limits']) {
    const rows = await world.db.query<{ text: string }>(`SELECT one::text AS text FROM ${table} one`, []);
    expect(rows.map(({ text }) => text).join('\n')).not.toContain('customer-77');
  }
});

test('a routing decision is limited by its tags and member', async () => {
  const asOperator = (path: string, body: object) =>
    world.request('PUT', `/v1/admin/${path}`, { key: world.operatorKey, body });
  await asOperator('models/small', {
    provider: 'p',
    input_usd_per_million: '1',
    output_usd_per_million: '1',
  });
  const bar = { suite: 'support', min_score: 0.8, max_age_days: 30 };
  await own('PUT', 'routing-policy', { candidates: ['small'], objective: 'cost', ...bar });
  await own('POST', 'evals', { suite: 'support', model: 'small', score: 0.9, samples: 100 });
  await budget('tag:env', 'prod', '0.5');
  await budget('member', 'mem_1', '0.5');
  const route = (fields: object) =>
    call('POST', '/v1/routing/decisions', { input_tokens: 500_000, max_output_tokens: 500_000, ...fields });
  expect(errorSummary(await route({ tags: { env: 'prod' } }))).toEqual([402, 'budget_exceeded']);
  expect(errorSummary(await route({ member_id: 'mem_1', hold: true }))).toEqual([402, 'budget_exceeded']);
  const { status, json } = await route({ tags: { env: 'test' }, hold: true });
  expect([status, json.model]).toEqual([200, 'small']);
  const [hold] = (await own('GET', 'holds')).json.data;
  expect(hold).toMatchObject({ decision_id: json.decision_id, tags: { env: 'test' } });
});

describe('before the upgrade from 0.1.0 is final', () => {
  test.each(['team', 'member', 'provider', 'tag:env'])('a budget by %s is a conflict', async (scope_kind) => {
    const [applied] = await world.db.query<{ row: object }>(
      'DELETE FROM schema_migrations m WHERE version = 45 RETURNING to_jsonb(m) AS row',
      [],
    );
    try {
      const body = { name: 'b', scope_kind, scope_id: 'a', period: 'day', limit_usd: '1' };
      const refused = await own('POST', 'budgets', body);
      expect(errorSummary(refused)).toEqual([409, 'conflict']);
      expect(refused.json.error.message).toContain('purser migrate --contract');
      expect((await own('GET', 'budgets')).json.data).toEqual([]);
      await budget('key', keyId, '1');
      await budget('model', '*', '1');
    } finally {
      await world.db.query(
        'INSERT INTO schema_migrations SELECT * FROM jsonb_populate_record(NULL::schema_migrations, $1::jsonb)',
        [JSON.stringify(applied?.row)],
      );
    }
  });
});

test('an upgrade copies provider, team and tags of earlier runs into their entries', async () => {
  const fields = { provider: 'p', team: 't', tags: { env: 'prod' } };
  await run('1', fields);
  await run('2', { tags: { env: 'prod' } });
  await run('4', {});
  const columns = 'usd_nanos, provider, team, tags';
  const entries = () =>
    world.db.query(`SELECT ${columns} FROM ledger_entries WHERE org_id = $1 ORDER BY usd_nanos`, [org.id]);
  const expected = await entries();
  expect(expected[0]).toEqual({ usd_nanos: 1_000_000_000n, ...fields });
  /** Leaves the entries as release 0.1.0 wrote them. */
  const forget = () =>
    world.db.query('UPDATE ledger_entries SET provider = NULL, team = NULL, tags = NULL WHERE org_id = $1', [
      org.id,
    ]);
  const migrations = await readMigrations();
  const sqlOf = (version: number) => migrations.find((one) => one.version === version)?.sql ?? '';

  await forget();
  let batches = 0;
  for (let cursor: string | null = ''; cursor !== null; batches += 1) {
    const [row]: { next_cursor: string | null }[] = await world.db.query(sqlOf(44), [cursor]);
    cursor = row?.next_cursor ?? null;
  }
  expect(batches).toBeGreaterThan(1);
  expect(await entries()).toEqual(expected);

  await forget();
  await world.db.query('UPDATE schema_migrations SET applied_at = $1 WHERE version = 43', [new Date(0)]);
  await world.db.query(sqlOf(45));
  expect(await entries()).toEqual(expected);
  await budget('tag:env', 'prod', '3');
  expect((await run('0.1', { tags: { env: 'prod' } })).status).toBe(402);
  await expectBalanced();
});

test('usage is grouped and filtered by member', async () => {
  await run('1', { member_id: 'mem_1' });
  await run('2', { member_id: 'mem_2' });
  await run('4', {});
  const rows = (await own('GET', 'usage?group_by=member_id')).json.data;
  expect(rows.map((row: { member_id: string; cost_usd: string }) => [row.member_id, row.cost_usd])).toEqual([
    [null, '4'],
    ['mem_2', '2'],
    ['mem_1', '1'],
  ]);
  expect((await own('GET', 'usage?member_id=mem_2')).json.data[0].cost_usd).toBe('2');
  expect((await call('GET', '/v1/runs?member_id=mem_1')).json.data).toHaveLength(1);
});
