import { beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { daysOf, recordDays } from '../../../../test/support/usage-history.ts';
import { createIds } from '../../../platform/ids.ts';
import { exhaustionWatch } from './exhaustion-watch.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  await recordDays(
    world,
    org,
    daysOf(28, () => '10'),
    { workflow: 'w', customer_id: 'c' },
  );
  await call('POST', 'webhooks', { url: 'https://receiver.example/hook', events: ['limit.*'] });
});

const call = async (method: string, path: string, body?: object) => {
  const { status, json } = await world.request(method, `/v1/orgs/${org.id}/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
  expect(status).toBeLessThan(300);
  return json;
};
const budget = (limit_usd: string, more: object = {}) =>
  call('POST', 'budgets', { name: 'b', scope_kind: 'org', period: 'month', limit_usd, ...more });

/** Runs the job an hour later, when an org is checked again. Returns the new events. */
async function told(of = org): Promise<Record<string, unknown>[]> {
  world.clock.advanceSeconds(3_601);
  const events = () =>
    world.db.query<{ data: Record<string, unknown> }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'limit.exhaustion_forecast' ORDER BY id`,
      [of.id],
    );
  const before = (await events()).length;
  const job = world.job('emit-exhaustion-forecasts');
  expect(await job.runOnce()).toBe(false);
  return (await events()).slice(before).map(({ data }) => data);
}

test('reports a limit that will run out in its window once, and again in the next window', async () => {
  expect(await told()).toEqual([]);
  const enough = await budget('1000');
  expect(await told()).toEqual([]);
  const short = await budget('200');
  expect(await told()).toEqual([
    {
      limit_id: short.id,
      kind: 'budget',
      match: {},
      unit: 'usd',
      limit: '200',
      used: '140',
      window_start: '2026-11-01T00:00:00.000Z',
      window_end: '2026-12-01T00:00:00.000Z',
      runs_out_on: '2026-11-21',
      earliest_on: expect.stringMatching(/^2026-11-/),
      latest_on: expect.stringMatching(/^2026-11-/),
      expected_at_window_end: expect.any(String),
    },
  ]);
  expect(await told()).toEqual([]);
  // Reduced to an amount that runs out within the period.
  await call('PATCH', `budgets/${enough.id}`, { limit_usd: '250' });
  expect((await told()).map(({ limit_id }) => limit_id)).toEqual([enough.id]);
  await call('DELETE', `budgets/${enough.id}`);
  await call('DELETE', `budgets/${short.id}`);
});

test('two concurrent processes report once', async () => {
  const short = await budget('210');
  world.clock.advanceSeconds(3_601);
  const job = world.job('emit-exhaustion-forecasts');
  await Promise.all([job.runOnce(), job.runOnce()]);
  const events = await world.db.query(
    `SELECT 1 AS one FROM outbox WHERE type = 'limit.exhaustion_forecast' AND data ->> 'limit_id' = $1`,
    [short.id],
  );
  expect(events).toHaveLength(1);
  await call('DELETE', `budgets/${short.id}`);
});

test('does not report an exhausted limit', async () => {
  const spent = await budget('140');
  expect(await told()).toEqual([]);
  await call('DELETE', `budgets/${spent.id}`);
});

test('reports scoped budgets, packs, caps and a prepaid balance', async () => {
  await budget('160', { scope_kind: 'workflow', scope_id: 'w' });
  await budget('160', { scope_kind: 'workflow', scope_id: 'other' });
  await call('POST', 'credit-packs', { customer_id: 'c', amount_usd: '30' });
  await call('POST', 'credit-packs', { customer_id: 'c', amount_usd: '5000' });
  await world.request('PUT', `/v1/admin/orgs/${org.id}/prepaid`, {
    key: world.operatorKey,
    body: { enabled: true },
  });
  const topUp = (amount_usd: string) =>
    world.request('POST', `/v1/admin/orgs/${org.id}/prepaid/top-ups`, {
      key: world.operatorKey,
      body: { amount_usd },
    });
  await topUp('100');
  const kinds = (await told()).map(({ kind, match }) => [kind, match]);
  expect(kinds).toEqual(
    expect.arrayContaining([
      ['budget', { workflow: 'w' }],
      ['credits', { customer_id: 'c' }],
      ['prepaid', {}],
    ]),
  );
  expect(kinds).toHaveLength(3);
  // A top-up that is not enough emits another event; one that is enough does not.
  await topUp('20');
  expect((await told()).map(({ kind, window_end }) => [kind, window_end])).toEqual([['prepaid', null]]);
  await topUp('5000');
  expect(await told()).toEqual([]);
});

test('skips an org without subscribers, or with less than a week of history', async () => {
  const [silent, young] = [await world.createOrg(), await world.createOrg()];
  for (const [of, days] of [
    [silent, 28],
    [young, 5],
  ] as const) {
    await recordDays(
      world,
      of,
      daysOf(days, () => '10'),
    );
    await world.request('POST', `/v1/orgs/${of.id}/budgets`, {
      key: of.ownerKey,
      body: { name: 'b', scope_kind: 'org', period: 'year', limit_usd: '300' },
    });
  }
  await world.request('POST', `/v1/orgs/${young.id}/webhooks`, {
    key: young.ownerKey,
    body: { url: 'https://receiver.example/hook', events: ['*'] },
  });
  await expect.poll(() => world.services.events.wants(silent.id, 'limit.exhaustion_forecast')).toBe(false);
  expect(await told(silent)).toEqual([]);
  expect(await told(young)).toEqual([]);
});

test('an org that cannot be checked does not delay the others', async () => {
  const [broken, whole] = [await world.createOrg(), await world.createOrg()];
  for (const of of [broken, whole]) {
    await recordDays(
      world,
      of,
      daysOf(28, () => '10'),
    );
    await world.request('POST', `/v1/orgs/${of.id}/budgets`, {
      key: of.ownerKey,
      body: { name: 'b', scope_kind: 'org', period: 'year', limit_usd: '300' },
    });
  }
  const checked: string[] = [];
  const { ledger, orgLimits } = world.services;
  const job = exhaustionWatch({
    db: world.db,
    ids: createIds(world.clock),
    clock: world.clock,
    ledger: ledger.reads,
    orgLimits: {
      async get(orgId) {
        checked.push(orgId);
        if (orgId === broken.id) {
          throw new Error('unreadable');
        }
        return orgLimits.get(orgId);
      },
    },
    wants: () => true,
  });
  world.clock.advanceSeconds(3_601);
  await expect(job.runOnce()).rejects.toThrow('1 organizations could not be checked');
  expect(checked).toEqual(expect.arrayContaining([broken.id, whole.id]));
});

test('checks an org with very many limits over several runs', async () => {
  const many = await world.createOrg();
  await world.request('POST', `/v1/orgs/${many.id}/webhooks`, {
    key: many.ownerKey,
    body: { url: 'https://receiver.example/hook', events: ['limit.exhaustion_forecast'] },
  });
  for (let customer = 0; customer < 30; customer += 1) {
    await world.request('POST', `/v1/orgs/${many.id}/customer-limits`, {
      key: many.ownerKey,
      body: { customer_id: `c${String(customer).padStart(2, '0')}`, period: 'year', limit_usd: '100' },
    });
  }
  await recordDays(
    world,
    many,
    daysOf(9, () => '10'),
    { customer_id: 'c29' },
  );
  const job = world.job('emit-exhaustion-forecasts');
  const count = async () =>
    (
      await world.db.query(
        `SELECT 1 AS one FROM outbox WHERE tenant_id = $1 AND type = 'limit.exhaustion_forecast'`,
        [many.id],
      )
    ).length;
  await job.runOnce();
  expect(await count()).toBe(0);
  // The next run continues immediately, without waiting for an hour.
  await job.runOnce();
  expect(await count()).toBe(1);
});

test('reports a quota of a day, but none with a shorter window', async () => {
  const limited = await world.createOrg();
  await world.request('POST', `/v1/orgs/${limited.id}/webhooks`, {
    key: limited.ownerKey,
    body: { url: 'https://receiver.example/hook', events: ['limit.exhaustion_forecast'] },
  });
  await recordDays(
    world,
    limited,
    daysOf(28, () => '10'),
  );
  const quota = { unit: 'usd', limit: '2', kind: 'quota' };
  const { json } = await world.request('PUT', `/v1/admin/orgs/${limited.id}/rate-limits`, {
    key: world.operatorKey,
    body: {
      policies: [
        { ...quota, name: 'hour', window_seconds: 3_600 },
        { ...quota, name: 'day', window_seconds: 86_400 },
      ],
    },
  });
  const policies: { id: string; name: string }[] = json.policies;
  const daily = policies.find(({ name }) => name === 'day');
  expect((await told(limited)).map(({ limit_id }) => limit_id)).toEqual([daily?.id]);
  const forecasts = await world.request('GET', `/v1/orgs/${limited.id}/forecasts`, { key: limited.ownerKey });
  const outlooks: { limit_id: string }[] = forecasts.json.data[0].limits;
  expect(outlooks.map(({ limit_id }) => limit_id)).toEqual([daily?.id]);
});
