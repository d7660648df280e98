/** How often an org may call, over HTTP. */
import { trace } from '@opentelemetry/api';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createCredentials } from '../../src/capabilities/keys/index.ts';
import { loadConfig } from '../../src/config.ts';
import { noFaults } from '../../src/platform/faults.ts';
import { AuthBackoff } from '../../src/platform/http/auth-backoff.ts';
import { createPipeline } from '../../src/platform/http/pipeline.ts';
import { createRequestRate, routeClass } from '../../src/platform/http/request-rate.ts';
import { insertLimit, type LimitRow, newLimit } from '../../src/platform/ledger/limits.ts';
import { announceLimits } from '../../src/platform/ledger/notices.ts';
import { createOrgLimits } from '../../src/platform/ledger/org-limits.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { createMemoryRateLimiter } from '../../src/platform/rates/memory.ts';
import type { RateLimiter } from '../../src/platform/rates/rate-limiter.ts';
import { createWorld, type TestOrg, type World } from '../harness.ts';

let world: World;
let org: TestOrg;
beforeAll(async () => {
  world = await createWorld();
  limitBy(createMemoryRateLimiter({ share: () => 1 }));
});
beforeEach(async () => {
  org = await world.createOrg();
});
afterAll(async () => {
  await world.close();
});

/** The world's own routes behind a pipeline that counts requests as told. */
function limitBy(limiter: RateLimiter, readLimitPerMinute?: number): void {
  const { app, db, clock, router } = world;
  const credentials = createCredentials(db);
  const handler = createPipeline({
    router,
    db,
    clock,
    log: createLog('silent'),
    faults: noFaults,
    metrics: createMetrics(db),
    tracer: trace.getTracer('test'),
    backoff: new AuthBackoff(1_000, clock),
    settings: loadConfig({}),
    findCredential: (token) => credentials.find(token),
    recordChange: async () => undefined,
    takeRequest: createRequestRate({ limiter, orgLimits: createOrgLimits(db), readLimitPerMinute }),
  });
  Object.assign(app, { handler });
}

const inMemory = () => createMemoryRateLimiter({ share: () => 1 });

async function setReadRpm({ id }: TestOrg, readRpm: number | null): Promise<void> {
  await world.db.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO org_rate_limits (org_id, read_rpm) VALUES ($1, $2)
       ON CONFLICT (org_id) DO UPDATE SET read_rpm = excluded.read_rpm`,
      [id, readRpm],
    );
    await announceLimits(tx, id);
  });
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

const readOrg = ({ id, ownerKey }: TestOrg, key = ownerKey) =>
  world.request('GET', `/v1/orgs/${id}`, { key });
const mint = ({ id, ownerKey }: TestOrg, key = ownerKey) =>
  world.request('POST', `/v1/orgs/${id}/keys`, { key, body: { name: 'a', role: 'viewer', scopes: [] } });

/** The statuses of calls one after another. */
async function statuses(count: number, call: () => Promise<{ status: number }>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i += 1) {
    all.push((await call()).status);
  }
  return all;
}

describe('reads per minute', () => {
  test('the sixth read of five is refused, with the wait in the header and in the details', async () => {
    await setReadRpm(org, 5);
    expect(await statuses(5, () => readOrg(org))).toEqual([200, 200, 200, 200, 200]);
    world.clock.advanceSeconds(20);
    const refused = await readOrg(org);
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('40');
    expect(refused.json.error).toMatchObject({ code: 'rate_limited', details: { retry_after_seconds: 40 } });
  });

  test('they pass again when the minute is over, and not before', async () => {
    await setReadRpm(org, 2);
    await readOrg(org);
    world.clock.advanceSeconds(30);
    await readOrg(org);
    world.clock.advanceSeconds(29);
    expect(await statuses(1, () => readOrg(org))).toEqual([429]);
    world.clock.advanceSeconds(1);
    // The first is a minute old, the second half a minute.
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
  });

  test('another org, writes, operators and public routes are not touched', async () => {
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

  test('HEAD is a read; what is refused before is not counted, what is refused later is', async () => {
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

  test('a change holds for the next request, and taking the limit away too', async () => {
    await setReadRpm(org, 1);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
    await setReadRpm(org, 3);
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 429]);
    await setReadRpm(org, null);
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 200]);
  });

  test('0 lets no read pass', async () => {
    await setReadRpm(org, 0);
    const refused = await readOrg(org);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
  });

  test('the deployment-wide limit holds for orgs without their own, each by itself; a row wins', async () => {
    limitBy(inMemory(), 2);
    const other = await world.createOrg();
    const generous = await world.createOrg();
    await setReadRpm(generous, 4);
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => readOrg(other))).toEqual([200, 200, 429]);
    expect(await statuses(5, () => readOrg(generous))).toEqual([200, 200, 200, 200, 429]);
    limitBy(inMemory());
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 200]);
  });
});

describe('rate policies', () => {
  test('without a match count every request of the org', async () => {
    await addPolicy(org, { capacity: 3n });
    expect([(await readOrg(org)).status, (await mint(org)).status]).toEqual([200, 201]);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
    const refused = await mint(org);
    // Three in ten minutes: one every 200 seconds.
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '200']);
    world.clock.advanceSeconds(200);
    expect(await statuses(2, () => mint(org))).toEqual([201, 429]);
  });

  test('of one key leave the others alone', async () => {
    const [slow, fast] = [
      await world.mintKey(org, 'viewer', ['org:read']),
      await world.mintKey(org, 'viewer', ['org:read']),
    ];
    await addPolicy(org, { match: { key_id: slow.id } });
    expect(await statuses(3, () => readOrg(org, slow.secret))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => readOrg(org, fast.secret))).toEqual([200, 200, 200]);
  });

  test('of each key count every key by itself', async () => {
    const keys = [
      await world.mintKey(org, 'viewer', ['org:read']),
      await world.mintKey(org, 'viewer', ['org:read']),
    ];
    await addPolicy(org, { match: { key_id: '*' } });
    for (const { secret } of keys) {
      expect(await statuses(3, () => readOrg(org, secret))).toEqual([200, 200, 429]);
    }
  });

  test('of a route class count the requests of that class', async () => {
    await addPolicy(org, { match: { route_class: 'write' } });
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 200]);
    expect(await statuses(3, () => mint(org))).toEqual([201, 201, 429]);
  });

  test('of a key and a route class count what is both', async () => {
    const admin = await world.mintKey(org, 'admin', ['keys:write', 'org:read']);
    await addPolicy(org, { match: { key_id: admin.id, route_class: 'write' }, capacity: 1n });
    expect(await statuses(2, () => mint(org, admin.secret))).toEqual([201, 429]);
    expect(await statuses(2, () => mint(org))).toEqual([201, 201]);
    expect(await statuses(2, () => readOrg(org, admin.secret))).toEqual([200, 200]);
  });

  test('let a burst pass at once, where they have one of their own', async () => {
    await addPolicy(org, { capacity: 60n, window_seconds: 60, burst: 2n });
    expect(await statuses(3, () => readOrg(org))).toEqual([200, 200, 429]);
    world.clock.advanceSeconds(1);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
  });

  test('several: a request that one refuses is not counted by the others', async () => {
    await addPolicy(org, { match: { route_class: 'write' }, capacity: 1n });
    await addPolicy(org, { capacity: 2n });
    expect(await statuses(3, () => mint(org))).toEqual([201, 429, 429]);
    expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
  });

  test('that are not for this step, or over, or only warn, refuse nobody here', async () => {
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

  test('are told a route by what it does', () => {
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

test('a refused write is told so before its body is read', async () => {
  await addPolicy(org, { match: { route_class: 'write' }, capacity: 1n });
  await mint(org);
  const refused = await world.request('POST', `/v1/orgs/${org.id}/keys`, {
    key: org.ownerKey,
    raw: 'not json',
  });
  expect(refused.status).toBe(429);
});

test('a limiter that has to be waited for is waited for', async () => {
  const memory = inMemory();
  limitBy({ ...memory, take: async (takes, nowMs) => memory.take(takes, nowMs) });
  await setReadRpm(org, 1);
  expect(await statuses(2, () => readOrg(org))).toEqual([200, 429]);
});
