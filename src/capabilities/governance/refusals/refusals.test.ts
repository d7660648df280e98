import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../../test/harness.ts';
import { refusalOf, type Send, sender } from '../../../../test/support/limits.ts';

let world: World;
let org: TestOrg;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  org = await world.createOrg();
});

const send: Send = sender(
  () => world,
  () => `/v1/orgs/${org.id}`,
  () => org.ownerKey,
);
const write = () => world.runJob('record-refusals');
const run = (body: object) => world.request('POST', '/v1/runs', { key: org.ownerKey, body });
const listed = async (query = '') => (await send('GET', `/refusals${query}`)).json.data;

describe('a denied request', () => {
  test('is listed with its cause, the latest first, and counted with equal denials', async () => {
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

  test('is also listed for the edge, and for bulk requests with the denied run', async () => {
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

  test('is stored without content', async () => {
    await send('PATCH', '/safety-detectors/email', { enabled: true, action: 'block' });
    expect((await run({ model: 'm', cost_usd: '0', content: 'ask jo@example.com' })).status).toBe(403);
    await write();
    expect(await listed()).toMatchObject([
      { code: 'content_safety_blocked', details: { detector: 'email' } },
    ]);
    expect(JSON.stringify(await listed())).not.toContain('example.com');
  });

  test('can be filtered by its fields', async () => {
    await send('PUT', '/spend-cap', { cap_usd: '0' });
    for (const model of ['a', 'b']) {
      await run({ model, cost_usd: '1' });
    }
    await write();
    expect(await listed('?model=a')).toHaveLength(1);
    expect(await listed('?code=spend_cap_exceeded')).toHaveLength(2);
    expect(await listed('?code=budget_exceeded')).toEqual([]);
    expect(refusalOf(await send('GET', '/refusals?code=internal'))).toEqual([
      422,
      'validation_failed',
      'code invalid_value',
    ]);
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
  expect(await listed()).toMatchObject([{ count: 2 }]);
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
