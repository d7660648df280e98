/** All limits in one list, with their settled and held amounts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../../test/harness.ts';

let world: World;
let org: TestOrg;
beforeAll(async () => {
  world = await createWorld();
  org = await world.createOrg();
});
afterAll(() => world.close());

const own = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });

test('returns what is settled, held and left of each limit, also of unused ones', async () => {
  await own('PUT', 'spend-cap', { cap_usd: '10' });
  await own('POST', 'customer-limits', { customer_id: '*', period: 'month', limit_usd: '5' });
  await own('POST', 'credit-packs', { customer_id: 'acme', amount_usd: '3' });
  await own('POST', '/v1/runs', { model: 'm', cost_usd: '1.25', customer_id: 'acme' });
  await own('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.5' });
  await own('POST', 'budgets', { name: 'late', scope_kind: 'org', period: 'month', limit_usd: '1' });

  const { json } = await own('GET', 'limits');
  const byKind = Object.fromEntries(json.data.map((limit: { kind: string }) => [limit.kind, limit]));
  expect(byKind.spend_cap).toMatchObject({
    unit: 'usd',
    limit: '10',
    standing: {
      settled: '1.25',
      held: '0.5',
      remaining: '8.25',
      window_start: '2026-11-15T00:00:00.000Z',
      window_end: '2026-11-16T00:00:00.000Z',
    },
  });
  expect(byKind.customer).toMatchObject({ match: { customer_id: '*' }, standing: null });
  expect(byKind.credits.standing).toMatchObject({
    settled: '1.25',
    held: '0',
    remaining: '1.75',
    window_start: null,
    window_end: null,
  });
  // The budget was created in the middle of its period, below the amount already spent, so nothing remains.
  expect(byKind.budget.standing).toMatchObject({ settled: '1.25', remaining: '0' });
});

test('filters by kind and by customer, and paginates', async () => {
  const ofCustomer = async (customer: string) =>
    (await own('GET', `limits?customer_id=${customer}`)).json.data.map(({ kind }: { kind: string }) => kind);
  expect(await ofCustomer('acme')).toEqual(['credits']);
  expect(await ofCustomer('*')).toEqual(['customer']);
  expect(await ofCustomer('nobody')).toEqual([]);
  const caps = await own('GET', 'limits?kind=spend_cap');
  expect(caps.json.data.map(({ kind }: { kind: string }) => kind)).toEqual(['spend_cap']);
  const first = await own('GET', 'limits?limit=1');
  const second = await own('GET', `limits?limit=1&cursor=${first.json.next_cursor}`);
  expect(second.json.data[0].id).not.toBe(first.json.data[0].id);
});
