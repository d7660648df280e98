/** Customers by their usage in a period. */
import { beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { pageByPeriod, planPeriod } from './customer-periods.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  const timezone = 'America/New_York';
  await world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { timezone } });
  const runs = [
    { started_at: '2026-10-20T12:00:00Z', customer_id: 'old', cost_usd: '50' },
    // 23:30 on 9 November in New York.
    { started_at: '2026-11-10T04:30:00Z', customer_id: 'a', cost_usd: '15' },
    { started_at: '2026-11-11T12:00:00Z', customer_id: 'b', cost_usd: '1' },
    { started_at: '2026-11-11T13:00:00Z', customer_id: 'b', cost_usd: '1' },
    { started_at: '2026-11-11T14:00:00Z', customer_id: 'c', cost_usd: '2' },
    { started_at: '2026-11-12T14:00:00Z', cost_usd: '9' },
  ].map((run) => ({ model: 'm', ...run }));
  const answer = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: org.ownerKey,
    body: { runs },
  });
  expect(answer.status).toBe(201);
});

const list = (query: string) =>
  world.request('GET', `/v1/orgs/${org.id}/customers?${query}`, { key: org.ownerKey });
const idsIn = ({ json }: Awaited<ReturnType<typeof list>>): string[] =>
  json.data.map(({ customer_id }: { customer_id: string }) => customer_id);
const days = 'from=2026-11-09T00:00:00-05:00&to=2026-11-12T00:00:00-05:00';

test.each([
  ['period.cost_usd', ['b', 'c', 'a']],
  ['period.runs', ['a', 'c', 'b']],
  ['period.last_active_on', ['a', 'b', 'c']],
])('%s sorts the customers with usage in the period, also page by page', async (sort, expected) => {
  expect(idsIn(await list(`${days}&sort=${sort}`))).toEqual(expected);
  for (const [order, all] of [
    [sort, expected],
    [`-${sort}`, expected.toReversed()],
  ] as const) {
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await list(`${days}&sort=${order}&limit=1${cursor}`);
      seen.push(...idsIn(page));
      cursor = page.json.next_cursor === null ? '' : `&cursor=${page.json.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(all);
  }
});

test('the usage of the period is separate from the total, in days of the time zone of the organization', async () => {
  const { json } = await list(`${days}&trend=true`);
  expect(
    json.data.map((one: { customer_id: string; period: object }) => [one.customer_id, one.period]),
  ).toEqual([
    ['a', { cost_usd: '15', runs: 1, last_active_on: '2026-11-09', trend: ['15', '0', '0'] }],
    ['b', { cost_usd: '2', runs: 2, last_active_on: '2026-11-11', trend: ['0', '0', '2'] }],
    ['c', { cost_usd: '2', runs: 1, last_active_on: '2026-11-11', trend: ['0', '0', '2'] }],
    ['old', { cost_usd: '0', runs: 0, last_active_on: null, trend: ['0', '0', '0'] }],
  ]);
  expect(json.data.at(-1).cost_usd).toBe('50');
});

test('a list without a period has none, and one sorted by it has the last 30 days', async () => {
  expect((await list('')).json.data[0]).not.toHaveProperty('period');
  const { json } = await list('sort=-period.cost_usd');
  expect(json.data.map(({ period }: { period: { cost_usd: string } }) => period.cost_usd)).toEqual([
    '50',
    '15',
    '2',
    '2',
  ]);
  expect(json.data[0].period).not.toHaveProperty('trend');
});

test('the periods of one customer', async () => {
  expect(idsIn(await list(`${days}&sort=-period.runs&customer_id=c`))).toEqual(['c']);
  expect(idsIn(await list(`${days}&sort=-period.runs&customer_id=old`))).toEqual([]);
});

test.each([
  ['from=2026-01-01T00:00:00Z&to=2026-11-01T00:00:00Z&trend=true', 'trend'],
  ['from=2024-01-01T00:00:00Z', 'to'],
  ['sort=cost_usd', 'sort'],
  ['sort=period.runs&cursor=x', 'cursor'],
  [`sort=period.runs&cursor=${Buffer.from('["period.runs","x","a"]').toString('base64url')}`, 'cursor'],
  [`sort=period.runs&cursor=${Buffer.from('["customer_id","a","a"]').toString('base64url')}`, 'cursor'],
])('%s is rejected', async (query, field) => {
  const { status, json } = await list(query);
  expect([status, json.error.details.fields[0].field]).toEqual([422, field]);
});

test('sums beyond 64 bits are exact, also page by page', async () => {
  const large = await world.createOrg();
  const runs = ['a', 'a', 'b'].map((customer_id, day) => ({
    model: 'm',
    customer_id,
    cost_usd: '8999999999',
    started_at: new Date(Date.UTC(2026, 10, 9 + day)).toISOString(),
  }));
  const body = { runs };
  await world.request('POST', '/v1/runs/bulk?enforcement=record', { key: large.ownerKey, body });
  const query = { sort: '-period.cost_usd', limit: 1, trend: true };
  const plan = await planPeriod(world.db, large.id, query, world.clock.now());
  if (plan === undefined) {
    throw new Error('The sort order needs a period.');
  }
  const first = await pageByPeriod(world.db, plan, query);
  const second = await pageByPeriod(world.db, plan, { ...query, cursor: first.next_cursor ?? '' });
  const costs = [first, second].flatMap(({ periods }) =>
    [...periods].map(([id, { cost_usd }]) => [id, cost_usd]),
  );
  expect(costs).toEqual([
    ['a', '17999999998'],
    ['b', '8999999999'],
  ]);
  expect(second.next_cursor).toBeNull();
});
