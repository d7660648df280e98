/** Bounds: waiting deliveries per subscription, retention, and the cost of checking them. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { controlWebhooks, makeBudget, subscribe, type Webhooks } from '../../../../test/support/webhooks.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createIds } from '../../../platform/ids.ts';
import { redeliveriesMax } from './deliveries.ts';
import { fanOut } from './fan-out.ts';
import { removeOld, removeOldEvents } from './tidying.ts';
import { WaitingRoom, waitingMax } from './waiting-room.ts';

const world = useWorld();
let org: TestOrg;
let webhooks: Webhooks;
beforeAll(() => {
  webhooks = controlWebhooks(world);
});
afterAll(() => webhooks.stop());

afterEach(async () => {
  // Deleted here so that no other test must delete them batch by batch.
  await world.db.query('DELETE FROM webhook_deliveries', []);
  // From now on the planner assumes that the table is empty, as it may after a vacuum.
  await world.db.query('VACUUM webhook_deliveries');
});

const call = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}/webhooks/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const giveOut = async () => {
  const room = new WaitingRoom();
  while (await fanOut({ db: world.db, clock: world.clock, ids: createIds(world.clock), room })) {
    // Continue with the next batch.
  }
};
const removeAll = async () => {
  while (await removeOld(world.db, world.clock.now())) {
    // Continue with the next batch.
  }
};
const day = 86_400;
const count = async (table: string) =>
  Number((await world.db.query<{ count: bigint }>(`SELECT count(*) AS count FROM ${table}`))[0]?.count ?? 0n);

/** Inserts deliveries directly, without creating their events. */
const insertDeliveries = (id: string, state: string, count: number) =>
  world.db.query(
    `INSERT INTO webhook_deliveries (org_id, subscription_id, id, event_id, event_type, state, due_at, created_at)
     SELECT $1, $2, 'dlv_' || lpad(n::text, 8, '0'), 'evt_' || n, 'budget.created', $5, $4, $4
       FROM generate_series(1, $3::int4) AS n`,
    [org.id, id, count, world.clock.now(), state],
  );

test.each(['active', 'paused'])(
  '%s, limits the waiting deliveries of a subscription; further ones are recorded and can be redelivered',
  async (status) => {
    org = await world.createOrg();
    const id = await subscribe(world, org, 'https://receiver.example/');
    if (status === 'paused') {
      await call('POST', `${id}/pause`);
    }
    await insertDeliveries(id, 'waiting', waitingMax - 1);
    await makeBudget(world, org, 'fits');
    await giveOut();
    await makeBudget(world, org, 'is too much');
    await giveOut();
    const { data } = (await call('GET', `${id}/deliveries?state=failed`)).json;
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({ failure: 'queue_full', attempts: [] });
    expect((await call('POST', `${id}/deliveries/${data[0].id}/redeliver`)).json.state).toBe('waiting');
  },
);

test('counts waiting deliveries of subscriptions with new events, and again only when a part of the room is used', async () => {
  org = await world.createOrg();
  await giveOut();
  await subscribe(world, org, 'https://receiver.example/', ['key.*']);
  const wanting = await subscribe(world, org, 'https://receiver.example/', ['budget.*']);
  const counted: unknown[] = [];
  const db: Pick<Database, 'query' | 'transaction' | 'tenantGroups'> = {
    query: (sql, params) => world.db.query(sql, params),
    tenantGroups: world.db.tenantGroups,
    transaction: (work) =>
      world.db.transaction((tx) =>
        work({
          isDistributed: tx.isDistributed,
          pipelined: tx.pipelined,
          notify: (...args) => tx.notify(...args),
          query: (sql, params) => {
            if (sql.includes('count(*)')) {
              counted.push(params?.[1]);
            }
            return tx.query(sql, params);
          },
        }),
      ),
  };
  let nowMs = 0;
  const room = new WaitingRoom(() => nowMs);
  const announce = async () => {
    await makeBudget(world, org);
    while (await fanOut({ db, clock: world.clock, ids: createIds(world.clock), room })) {
      // Continue with the next batch.
    }
    return counted.splice(0);
  };
  expect(await announce()).toEqual([wanting]);
  expect(await announce()).toEqual([]);
  nowMs += 10_000;
  expect(await announce()).toEqual([wanting]);
  const sent = { org_id: org.id, subscription_id: wanting, event_id: '', event_type: '', failure: null };
  const created = Array.from({ length: waitingMax / 4 }, () => ({ ...sent, id: '', recipient: null }));
  room.use(created.map((one) => ({ ...one, state: 'failed' })));
  expect(await announce()).toEqual([]);
  room.use(created.map((one) => ({ ...one, state: 'waiting' })));
  expect(await announce()).toEqual([wanting]);
  // In a queue that is nearly full every batch counts: what was sent meanwhile makes room.
  await insertDeliveries(wanting, 'waiting', waitingMax - 5_000);
  nowMs += 10_000;
  expect(await announce()).toEqual([wanting]);
  expect(await announce()).toEqual([wanting]);
});

test.each(['delivered', 'failed'] as const)(
  'redelivers more than fit into one request (%s) in parts',
  async (state) => {
    org = await world.createOrg();
    const id = await subscribe(world, org, 'https://receiver.example/');
    await call('POST', `${id}/pause`);
    await insertDeliveries(id, state, redeliveriesMax + 1);
    const body = { from: '2026-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z', state };
    const first = (await call('POST', `${id}/redeliver`, body)).json;
    expect(first).toEqual({ redelivering: redeliveriesMax, more: true, next_cursor: expect.any(String) });
    // The redeliveries end in the same state as before: delivered, or failed because their event was deleted.
    await world.db.query('UPDATE webhook_deliveries SET state = $2 WHERE subscription_id = $1', [id, state]);
    const second = (await call('POST', `${id}/redeliver`, { ...body, cursor: first.next_cursor })).json;
    expect(second).toEqual({ redelivering: 1, more: false, next_cursor: null });
    expect((await call('GET', `${id}/deliveries?state=waiting`)).json.data).toMatchObject([
      { id: `dlv_${String(redeliveriesMax + 1).padStart(8, '0')}` },
    ]);
    expect((await call('POST', `${id}/redeliver`, { ...body, cursor: 'abc' })).status).toBe(422);
  },
);

test('fails deliveries that wait too long, and keeps them visible until they are deleted', async () => {
  org = await world.createOrg();
  const id = await subscribe(world, org, 'https://receiver.example/');
  await call('POST', `${id}/pause`);
  await makeBudget(world, org);
  await giveOut();
  const all = async () => (await call('GET', `${id}/deliveries`)).json.data;
  world.clock.advanceSeconds(29 * day);
  await removeAll();
  expect(await all()).toMatchObject([{ state: 'waiting' }]);
  world.clock.advanceSeconds(1);
  await removeAll();
  const given = await all();
  expect(given).toMatchObject([{ state: 'failed', failure: 'event_gone' }]);
  expect(given[0].ended_at).toBe(world.clock.now().toISOString());
  await call('POST', `${id}/deliveries/${given[0].id}/redeliver`);
  world.clock.advanceSeconds(day);
  await removeAll();
  expect(await all(), 'somebody asked for it').toMatchObject([{ state: 'waiting' }]);
  world.clock.advanceSeconds(29 * day);
  await removeAll();
  expect(await all()).toEqual([]);
});

test('cleanup reads one delivery of a subscription without old ones', async () => {
  org = await world.createOrg();
  const id = await subscribe(world, org, 'https://receiver.example/');
  await insertDeliveries(id, 'delivered', 600);
  await world.db.query('ANALYZE webhook_deliveries');
  const statements: { sql: string; params: readonly unknown[] }[] = [];
  await removeOld(
    {
      query: (sql, params = []) => {
        statements.push({ sql, params });
        return world.db.query(sql, params);
      },
    },
    world.clock.now(),
  );
  const deleting = statements.find(({ sql }) => sql.startsWith('DELETE FROM webhook_deliveries'));
  const plan = await world.db.query<Record<string, string>>(
    `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${deleting?.sql}`,
    deleting?.params,
  );
  const read = plan
    .flatMap((row) => Object.values(row))
    .filter((line) => /Scan.* on webhook_deliveries/.test(line))
    .map((line) => Number(/rows=([\d.]+)/.exec(line)?.[1] ?? 0));
  expect(read.length).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThanOrEqual(1);
});

test('keeps the event of a delivery that is still retried, however short the retention period is', async () => {
  org = await world.createOrg();
  const id = await subscribe(world, org, 'https://receiver.example/');
  await makeBudget(world, org);
  await giveOut();
  const [delivery] = (await call('GET', `${id}/deliveries`)).json.data;
  const isKept = async () => {
    await removeOldEvents(world.db, { orgId: org.id, now: world.clock.now(), days: 1 });
    return (await count(`outbox WHERE id = '${delivery.event_id}'`)) === 1;
  };
  world.clock.advanceSeconds(2 * day + 1);
  expect(await isKept()).toBe(true);
  await world.db.query(`UPDATE webhook_deliveries SET state = 'delivered' WHERE subscription_id = $1`, [id]);
  expect(await isKept()).toBe(false);
});

test('deletes deliveries after 30 days, events a day later, and deleted subscriptions with their last delivery', async () => {
  org = await world.createOrg();
  const id = await subscribe(world, org, 'https://receiver.example/');
  await makeBudget(world, org, 'old');
  await webhooks.begin();
  await webhooks.stop();
  await call('DELETE', id);
  world.clock.advanceSeconds(30 * day);
  await removeAll();
  expect(await count('webhook_deliveries')).toBeGreaterThan(0);
  world.clock.advanceSeconds(1);
  await removeAll();
  expect(await count('webhook_deliveries')).toBe(0);
  expect(await count('outbox WHERE fanned_out_at IS NOT NULL')).toBeGreaterThan(0);
  world.clock.advanceSeconds(day);
  await removeAll();
  expect(await count('outbox WHERE fanned_out_at IS NOT NULL')).toBe(0);
  expect(await count(`webhook_subscriptions WHERE id = '${id}'`)).toBe(0);
  expect(await count(`webhook_lanes WHERE subscription_id = '${id}'`)).toBe(0);
});
