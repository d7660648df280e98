import { beforeAll, expect, test } from 'vitest';
import { type TestOrg, useOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid, sender } from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  const other = await world.createOrg();
  await used(org, 'b', 1_500_000_000n, 2);
  await used(org, 'b', 1n, 1);
  await used(org, 'd', 0n, 1);
  await used(org, '', 7_000_000_000n, 9);
  await used(other, 'z', 7_000_000_000n, 9);
  await limit('c');
  await limit('b');
  await limit('*');
});

const send = sender(
  () => world,
  () => `/v1/orgs/${org.id}/customers`,
  () => org.ownerKey,
);

let rollups = 0;
async function used({ id }: TestOrg, customerId: string, nanos: bigint, requests: number): Promise<void> {
  rollups += 1;
  await world.db.query(
    `INSERT INTO usage_days (org_id, day, digest, key_id, model, provider, workflow, deployment, department, team,
                                customer_id, status, requests, input_tokens, cached_input_tokens, cache_write_tokens,
                                output_tokens, usd_nanos, value_nanos, latency_ms)
     VALUES ($1, '2026-11-15T00:00:00Z', $2, '', '', '', '', '', '', '', $3, 'succeeded', $4, 0, 0, 0, 0, $5, 0, 0)`,
    [id, `digest ${rollups}`, customerId, requests, nanos],
  );
}

async function limit(customer_id: string): Promise<void> {
  const body = { customer_id, period: 'day', limit_usd: '1' };
  const answer = await world.request('POST', `/v1/orgs/${org.id}/customer-limits`, {
    key: org.ownerKey,
    body,
  });
  expect(answer.status).toBe(201);
}

const ofTheDay = { id: expect.any(String), period: 'day', limit_usd: '1', spent_usd: '0' };
const everyone = [
  {
    customer_id: 'b',
    cost_usd: '1.500000001',
    runs: 3,
    limits: [{ ...ofTheDay, spent_usd: '1.500000001' }],
    credits_usd: null,
  },
  { customer_id: 'c', cost_usd: '0', runs: 0, limits: [ofTheDay], credits_usd: null },
  { customer_id: 'd', cost_usd: '0', runs: 1, limits: [], credits_usd: null },
];

test('lists every customer that has usage or a limit, once, with its all-time totals', async () => {
  const { status, json } = await send('GET', '');
  expect([status, json]).toEqual([200, { data: everyone, next_cursor: null }]);
});

test.each([
  ['customer_id', everyone],
  ['-customer_id', [...everyone].reverse()],
])('pages by %s contain every customer once', async (sort, expected) => {
  const seen: unknown[] = [];
  let query = `?limit=2&sort=${sort}`;
  for (let pages = 0; pages < 3 && query !== ''; pages += 1) {
    const { json } = await send('GET', query);
    seen.push(...json.data);
    query = json.next_cursor === null ? '' : `?limit=2&sort=${sort}&cursor=${json.next_cursor}`;
  }
  expect([seen, query]).toEqual([expected, '']);
});

test('returns the limit usage and the live credits of each customer, and filters by customer', async () => {
  const own = await world.createOrg();
  const as = (method: string, path: string, body: object) =>
    world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${own.id}${path}`, {
      key: own.ownerKey,
      body,
    });
  const expires_at = new Date(world.clock.now().getTime() + 60_000).toISOString();
  await as('POST', '/customer-limits', { customer_id: 'acme', period: 'month', limit_usd: '10' });
  await as('POST', '/credit-packs', { customer_id: 'acme', amount_usd: '3', expires_at });
  await as('POST', '/credit-packs', { customer_id: 'acme', amount_usd: '5' });
  await as('POST', '/v1/runs', { model: 'm', customer_id: 'acme', cost_usd: '1.25' });
  await as('POST', '/v1/runs', { model: 'm', customer_id: 'acme', cost_usd: '0.5', status: 'running' });
  await as('POST', '/v1/runs', { model: 'm', customer_id: 'bolt', cost_usd: '1' });
  const acme = async () => {
    const { json } = await world.request('GET', `/v1/orgs/${own.id}/customers?customer_id=acme`, {
      key: own.ownerKey,
    });
    expect(json.data).toHaveLength(1);
    return json.data[0];
  };
  expect(await acme()).toMatchObject({
    cost_usd: '1.25',
    limits: [{ period: 'month', limit_usd: '10', spent_usd: '1.75' }],
    credits_usd: '6.25',
  });
  const narrow = await world.mintKey(own, 'viewer', ['customers:read']);
  const { json: withoutCredits } = await world.request(
    'GET',
    `/v1/orgs/${own.id}/customers?customer_id=acme`,
    {
      key: narrow.secret,
    },
  );
  // Reading credits requires a separate scope.
  expect(withoutCredits.data).toMatchObject([{ cost_usd: '1.25', credits_usd: null }]);
  world.clock.advanceSeconds(61);
  // The remaining amount of an expired pack does not count.
  expect((await acme()).credits_usd).toBe('5');
});

test('a customer that only has a deleted limit is not listed', async () => {
  const { json } = await world.request('POST', `/v1/orgs/${org.id}/customer-limits`, {
    key: org.ownerKey,
    body: { customer_id: 'gone', period: 'day', limit_usd: '1' },
  });
  const names = async () =>
    (await send('GET', '')).json.data.map(({ customer_id }: { customer_id: string }) => customer_id);
  expect(await names()).toContain('gone');
  await world.request('DELETE', `/v1/orgs/${org.id}/customer-limits/${json.id}`, { key: org.ownerKey });
  expect(await names()).not.toContain('gone');
});

test.each([
  ['?sort=cost_usd', 'sort invalid_value'],
  ['?limit=0', 'limit out_of_range'],
  ['?cursor=nonsense', 'cursor invalid_value'],
  [`?cursor=${Buffer.from('["-customer_id","a","a"]').toString('base64url')}`, 'cursor invalid_value'],
  [`?cursor=${Buffer.from('["customer_id","a","\\u0000"]').toString('base64url')}`, 'cursor invalid_value'],
  [`?cursor=${Buffer.from('["customer_id","a",7]').toString('base64url')}`, 'cursor invalid_value'],
])('rejects %s', async (query, fault) => {
  expect(errorSummary(await send('GET', query))).toEqual(invalid(fault));
});

test('requires the scope, and does not show customers of other orgs', async () => {
  const path = `/v1/orgs/${org.id}/customers`;
  const { secret } = await world.mintKey(org, 'owner', ['customers:write']);
  expect((await world.request('GET', path, { key: secret })).json.error.details).toEqual({
    required: 'customers:read',
  });
  const stranger = await world.createOrg();
  expect(errorSummary(await world.request('GET', path, { key: stranger.ownerKey }))).toEqual([
    404,
    'not_found',
  ]);
});
