/** What is bounded: how much waits for a paused subscription, and how long things are kept. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../test/harness.ts';
import { controlWebhooks, makeBudget, subscribe, type Webhooks } from '../../../test/support/webhooks.ts';
import { pausedWaitingMax } from './fan-out.ts';
import { removeOld } from './tidying.ts';

let world: World;
let org: TestOrg;
let webhooks: Webhooks;
beforeAll(async () => {
  world = await createWorld();
  webhooks = controlWebhooks(world);
  org = await world.createOrg();
});
afterAll(async () => {
  await webhooks.stop();
  await world.close();
});

const call = (method: string, path: string) =>
  world.request(method, `/v1/orgs/${org.id}/webhooks/${path}`, { key: org.ownerKey });
const count = async (table: string) =>
  Number((await world.db.query<{ count: bigint }>(`SELECT count(*) AS count FROM ${table}`))[0]?.count ?? 0n);

test('a paused subscription keeps so many waiting; what comes after is noted, and can be asked for', async () => {
  const id = await subscribe(world, org, 'https://receiver.example/');
  await call('POST', `${id}/pause`);
  await world.db.query(
    `INSERT INTO webhook_deliveries (org_id, subscription_id, id, event_id, event_type, state, due_at, created_at)
     SELECT $1, $2, 'dlv_' || n, 'evt_' || n, 'budget.created', 'waiting', $4, $4 FROM generate_series(1, $3::int4) AS n`,
    [org.id, id, pausedWaitingMax - 1, world.clock.now()],
  );
  await makeBudget(world, org, 'fits');
  await webhooks.deliver();
  await makeBudget(world, org, 'is too much');
  await webhooks.deliver();
  const { data } = (await call('GET', `${id}/deliveries?state=failed`)).json;
  expect(data).toHaveLength(1);
  expect(data[0]).toMatchObject({ failure: 'queue_full', attempts: [] });
  expect((await call('POST', `${id}/deliveries/${data[0].id}/redeliver`)).json.state).toBe('waiting');
});

test('deliveries are removed after 30 days, events a day later, deleted subscriptions with the last of theirs', async () => {
  const id = await subscribe(world, org, 'https://receiver.example/');
  await makeBudget(world, org, 'old');
  await webhooks.begin();
  await webhooks.stop();
  await call('DELETE', id);
  const removeAll = async () => {
    while (await removeOld(world.db, world.clock.now())) {
      // The next batch.
    }
  };
  const day = 86_400;
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
