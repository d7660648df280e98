/** Request rates of an org, over HTTP. */
import { afterAll, describe, expect, test } from 'vitest';
import { insertLimit, type LimitRow, newLimit } from '../../src/ledger/limits/limits.ts';
import { routeClass } from '../../src/ledger/limits/request-rates.ts';
import { createWorld, type TestOrg, useOrgPerTest, useWorld } from '../harness.ts';
import { eventually } from '../support/eventually.ts';
import { endAllRedis, findRedis, startRedis } from '../support/redis.ts';

const world = useWorld();
const org = useOrgPerTest(world);
afterAll(() => endAllRedis());

async function setReadRpm({ id }: TestOrg, readRpm: number | null, on = world): Promise<void> {
  const path = `/v1/admin/orgs/${id}/rate-limits`;
  const { status } = await on.request('PUT', path, { key: on.operatorKey, body: { read_rpm: readRpm } });
  expect(status).toBe(200);
}

let policies = 0;
async function addPolicy({ id }: TestOrg, more: Partial<LimitRow>): Promise<void> {
  policies += 1;
  const row = newLimit(
    {
      org_id: id,
      id: `rlp_${policies}`,
      kind: 'rate',
      unit: 'requests',
      capacity: 2n,
      window_seconds: 600,
      ...more,
    },
    world.clock.now(),
  );
  await world.db.transaction((tx) => insertLimit(tx, row));
}

const readOrg = ({ id, ownerKey }: TestOrg, key = ownerKey, on = world) =>
  on.request('GET', `/v1/orgs/${id}`, { key });
const mint = ({ id, ownerKey }: TestOrg, key = ownerKey) =>
  world.request('POST', `/v1/orgs/${id}/keys`, { key, body: { name: 'a', role: 'viewer', scopes: [] } });

/** Returns the statuses of sequential requests. */
async function statuses(count: number, call: () => Promise<{ status: number }>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i += 1) {
    all.push((await call()).status);
  }
  return all;
}

describe('the header fields RateLimit and RateLimit-Policy', () => {
  const fields = ({ headers }: { headers: Record<string, string | undefined> }) => [
    headers['ratelimit-policy'],
    headers.ratelimit,
  ];

  test('the header fields RateLimit and RateLimit-Policy are not sent where no rate applies', async () => {
    expect(fields(await readOrg(org))).toEqual([undefined, undefined]);
    await setReadRpm(org, 5);
    expect(fields(await mint(org))).toEqual([undefined, undefined]);
  });

  test('say what is left of a rolling window, also with an error and a denial', async () => {
    await setReadRpm(org, 2);
    expect(fields(await readOrg(org))).toEqual(['"read_rpm";q=2;w=60', '"read_rpm";r=1;t=60']);
    world.clock.advanceSeconds(20);
    const missing = await world.request('GET', '/v1/runs/run_none', { key: org.ownerKey });
    expect([missing.status, ...fields(missing)]).toEqual([404, '"read_rpm";q=2;w=60', '"read_rpm";r=0;t=60']);
    const denied = await readOrg(org);
    expect([denied.status, denied.headers['retry-after'], ...fields(denied)]).toEqual([
      429,
      '40',
      '"read_rpm";q=2;w=60',
      '"read_rpm";r=0;t=40',
    ]);
  });

  test('say what is left of a token bucket, and its burst', async () => {
    await addPolicy(org, { id: 'rlp_bucket', capacity: 6n, burst: 3n, window_seconds: 60 });
    const policy = '"rlp_bucket";q=6;w=60;purser-burst=3';
    // A unit is added every ten seconds.
    expect(fields(await readOrg(org))).toEqual([policy, '"rlp_bucket";r=2;t=10']);
    expect(fields(await readOrg(org))).toEqual([policy, '"rlp_bucket";r=1;t=20']);
    world.clock.advanceSeconds(10);
    expect(fields(await readOrg(org))).toEqual([policy, '"rlp_bucket";r=1;t=20']);
  });

  test('list every rate that applies, and on a denial what is left of those that deny', async () => {
    await setReadRpm(org, 1);
    await addPolicy(org, { id: 'rlp_wide', capacity: 100n, burst: null, window_seconds: 60 });
    const policies = '"read_rpm";q=1;w=60, "rlp_wide";q=100;w=60';
    expect(fields(await readOrg(org))).toEqual([policies, '"read_rpm";r=0;t=60, "rlp_wide";r=99;t=1']);
    expect(fields(await readOrg(org))).toEqual([policies, '"read_rpm";r=0;t=60']);
  });
});

describe('reads per minute', () => {
  test('reject the sixth read of five, with the time to wait in the header and in the details', async () => {
    await setReadRpm(org, 5);
    expect(await statuses(5, () => readOrg(org))).toEqual([200, 200, 200, 200, 200]);
    world.clock.advanceSeconds(20);
    const refused = await readOrg(org);
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('40');
    expect(refused.json.error).toMatchObject({ code: 'rate_limited', details: { retry_after_seconds: 40 } });
  });

  test('reads of an org are allowed again when the minute is over, and not before', async () => {
    await setReadRpm(org, 2);
    await readOrg(org);
    world.clock.advanceSeconds(30);
    await readOrg(org);
    world.clock.advanceSeconds(29);
    expect(await statuses(1, () => readOrg(org))).toEqual([429]);
    world.clock.advanceSeconds(1);
    // The first request is a minute old, the second half a minute.
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
  });

  test('reads of an org do not affect other orgs, writes, operators and public routes', async () => {
    await setReadRpm(org, 1);
    const other = await world.createOrg();
    const viewer = await world.mintKey(org, 'viewer', ['org:read']);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
    expect((await readOrg(org, viewer.secret)).status).toBe(429);
    expect((await readOrg(other)).status).toBe(200);
    expect((await mint(org)).status).toBe(201);
    const operatorReads = () => world.request('GET', `/v1/admin/orgs/${org.id}`, { key: world.operatorKey });
    expect(await statuses(2, operatorReads)).toEqual([200, 200]);
    expect(await statuses(2, () => world.request('GET', '/v1/meta/errors'))).toEqual([200, 200]);
  });

  test('count HEAD, and requests that later checks reject, but not requests that earlier checks reject', async () => {
    await setReadRpm(org, 2);
    const unscoped = await world.mintKey(org, 'viewer', []);
    expect((await readOrg(org, unscoped.secret)).status).toBe(403);
    const foreign = await world.createOrg();
    expect((await readOrg(foreign, org.ownerKey)).status).toBe(404);
    const head = await world.request('HEAD', `/v1/orgs/${org.id}`, { key: org.ownerKey });
    const invalid = await world.request('GET', `/v1/orgs/${org.id}?no=such`, { key: org.ownerKey });
    const third = await world.request('GET', `/v1/orgs/${org.id}?no=such`, { key: org.ownerKey });
    expect([head.status, invalid.status, third.status]).toEqual([200, 422, 429]);
  });

  test('change and are removed with effect from the next request', async () => {
    await setReadRpm(org, 1);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
    await setReadRpm(org, 3);
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 429]);
    await setReadRpm(org, null);
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 200]);
  });

  test('default to the deployment-wide limit, for each org separately, unless the org has its own', async () => {
    const limited = await createWorld({ SVC_READ_LIMIT_PER_MINUTE: '2' });
    const [first, second, generous] = [
      await limited.createOrg(),
      await limited.createOrg(),
      await limited.createOrg(),
    ];
    await setReadRpm(generous, 4, limited);
    const reads = (count: number, whose: TestOrg) =>
      statuses(count, () => readOrg(whose, whose.ownerKey, limited));
    const { id, ownerKey } = await limited.createOrg();
    const shown = await limited.request('GET', `/v1/orgs/${id}/rate-limit-policies`, { key: ownerKey });
    expect(shown.json.read_rpm).toBe(2);
    expect(await reads(3, first)).toEqual([200, 200, 429]);
    expect(await reads(3, second)).toEqual([200, 200, 429]);
    expect(await reads(5, generous)).toEqual([200, 200, 200, 200, 429]);
    await setReadRpm(generous, null, limited);
    expect(await reads(1, generous)).toEqual([429]);
    await limited.close();
  });

  test.runIf(findRedis() !== undefined)('a Redis that all share counts them too', async () => {
    const redis = await startRedis();
    const limited = await createWorld({ SVC_REDIS_URL: redis.url });
    await eventually(() => expect(limited.services.rates).toMatchObject({ connected: true }));
    const whose = await limited.createOrg();
    await setReadRpm(whose, 2, limited);
    expect(await statuses(3, () => readOrg(whose, whose.ownerKey, limited))).toEqual([200, 200, 429]);
    await limited.close();
  });
});

describe('rate policies', () => {
  test('rate policies without a match apply to every request of the org', async () => {
    await addPolicy(org, { capacity: 3n });
    expect([(await readOrg(org)).status, (await mint(org)).status]).toEqual([200, 201]);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
    const refused = await mint(org);
    // Three in ten minutes: one every 200 seconds.
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '200']);
    world.clock.advanceSeconds(200);
    expect(await statuses(2, () => mint(org))).toEqual([201, 429]);
  });

  test('rate policies of one key do not affect other keys', async () => {
    const [slow, fast] = [
      await world.mintKey(org, 'viewer', ['org:read']),
      await world.mintKey(org, 'viewer', ['org:read']),
    ];
    await addPolicy(org, { match: { key_id: slow.id } });
    expect(await statuses(3, () => readOrg(org, slow.secret))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => readOrg(org, fast.secret))).toEqual([200, 200, 200]);
  });

  test('rate policies of each key count every key separately', async () => {
    const keys = [
      await world.mintKey(org, 'viewer', ['org:read']),
      await world.mintKey(org, 'viewer', ['org:read']),
    ];
    await addPolicy(org, { match: { key_id: '*' } });
    for (const { secret } of keys) {
      expect(await statuses(3, () => readOrg(org, secret))).toEqual([200, 200, 429]);
    }
  });

  test('rate policies of a route class count the requests of that class', async () => {
    await addPolicy(org, { match: { route_class: 'write' } });
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 200]);
    expect(await statuses(3, () => mint(org))).toEqual([201, 201, 429]);
  });

  test('rate policies of a key and a route class count the requests that match both', async () => {
    const admin = await world.mintKey(org, 'admin', ['keys:write', 'org:read']);
    await addPolicy(org, { match: { key_id: admin.id, route_class: 'write' }, capacity: 1n });
    expect(await statuses(2, () => mint(org, admin.secret))).toEqual([201, 429]);
    expect(await statuses(2, () => mint(org))).toEqual([201, 201]);
    expect(await statuses(2, () => readOrg(org, admin.secret))).toEqual([200, 200]);
  });

  test('allow a burst at once, if they define one', async () => {
    await addPolicy(org, { capacity: 60n, window_seconds: 60, burst: 2n });
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 429]);
    world.clock.advanceSeconds(1);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
  });

  test('rate policies do not count a request that another policy rejects', async () => {
    await addPolicy(org, { match: { route_class: 'write' }, capacity: 1n });
    await addPolicy(org, { capacity: 2n });
    expect(await statuses(3, () => mint(org))).toEqual([201, 429, 429]);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
  });

  test('rate policies that are checked at admission, have expired, or are alert-only do not reject requests', async () => {
    const over = new Date(world.clock.now().getTime() - 1);
    const none: Partial<LimitRow>[] = [
      { match: { model: 'gpt' } },
      { match: { customer_id: '*', route_class: 'read' } },
      { unit: 'tokens' },
      { unit: 'usd', match: { route_class: 'read' } },
      { kind: 'quota' },
      { expires_at: over },
      { enforcement: 'alert' },
    ];
    for (const policy of none) {
      await addPolicy(org, { capacity: 0n, ...policy });
    }
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 200]);
  });

  test('derive the class of a route from its declaration', () => {
    const classes = [
      { kind: 'read', path: '/v1/runs' },
      { kind: 'write', path: '/v1/runs' },
      { kind: 'write', path: '/v1/runs/bulk' },
      { kind: 'write', path: '/v1/runs/{run_id}/complete' },
      { kind: 'write', path: '/v1/edge/decision' },
      { kind: 'write', path: '/v1/orgs/{id}/keys' },
    ] as const;
    expect(classes.map(routeClass)).toEqual(['read', 'runs', 'runs', 'runs', 'edge', 'write']);
  });
});

test('a write over the rate is rejected before its body is read', async () => {
  await addPolicy(org, { match: { route_class: 'write' }, capacity: 1n });
  await mint(org);
  const refused = await world.request('POST', `/v1/orgs/${org.id}/keys`, {
    key: org.ownerKey,
    raw: 'not json',
  });
  expect(refused.status).toBe(429);
});
