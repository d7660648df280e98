/** Money under races and faults, on both engines; on PostgreSQL with two processes that share the ledger. */
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { countedBy, createSpendingOrg, nanos, type SpendingOrg, spending } from '../support/money.ts';
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';
import { rounds } from '../support/rounds.ts';
import { seedsOf } from '../support/seeds.ts';
import {
  operatorKey,
  type ServiceAnswer,
  type ServiceProcess,
  settingsOf,
  startPurser,
} from '../support/service-process.ts';
import { expectAcknowledged, expectRuns, limitSpenders, startSpenders } from '../support/spenders.ts';
import { makePlace, type Place } from '../support/test-database.ts';

const { seeds } = seedsOf('money-faults');

let place: Place;
let settings: Record<string, string>;
let proxy: PostgresProxy | undefined;
/** Two processes on PostgreSQL; on the embedded engine the same process twice. */
let services: ServiceProcess[];
const service = (number: number) => services[number % services.length] as ServiceProcess;

beforeAll(async () => {
  place = await makePlace({ migrated: true });
  settings = { ...settingsOf(place), SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };
  if (place.databaseUrl !== undefined) {
    proxy = await startPostgresProxy(place.databaseUrl);
  }
  services = await Promise.all([
    startPurser(settings),
    ...(proxy === undefined ? [] : [startPurser({ ...settings, SVC_DATABASE_URL: proxy.url })]),
  ]);
});
afterAll(async () => {
  await endAllProcesses();
  await proxy?.close();
  await place?.remove();
});

async function capped(capUsd: string): Promise<SpendingOrg> {
  const org = await createSpendingOrg(service(0));
  expect((await spending(service(0), org).cap(capUsd)).status).toBe(200);
  return org;
}

const outcome = ({ status, code }: ServiceAnswer) => (status < 300 ? 'passed' : `${status} ${code}`);

function tally(answers: readonly ServiceAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    counts[outcome(answer)] = (counts[outcome(answer)] ?? 0) + 1;
  }
  return counts;
}

const atOnce = rounds(60, 200);

test.each([1, 7, atOnce - 15])(
  `${atOnce} parallel reserves on a cap that fits %i: exactly so many pass`,
  async (fits) => {
    const org = await capped(formatUsd(nanos('0.01') * BigInt(fits) + nanos('0.009999999')));
    const answers = await Promise.all(
      Array.from({ length: atOnce }, (_, n) => {
        const through = spending(service(n), org);
        // Decisions on the fast path, decisions through the full pipeline, and runs in progress.
        const estimate = { estimated_cost_usd: '0.01' };
        return n % 4 < 2
          ? through.decide(estimate)
          : n % 4 === 2
            ? through.decide(estimate, `key ${n}`)
            : through.run({ ...estimate, status: 'running' });
      }),
    );
    expect(tally(answers)).toEqual({ passed: fits, '402 spend_cap_exceeded': atOnce - fits });
    const through = spending(service(1), org);
    expect(await through.holds()).toHaveLength(fits);
    expect(countedBy(await through.balanced(), 'spend_cap').held).toBe(nanos('0.01') * BigInt(fits));
  },
);

test('200 parallel decisions that fit stay within the cap, and leave less than one minimum', async () => {
  const org = await capped('0.999999');
  const tokens = {
    model: 'gpt-4o',
    input_tokens: 0,
    max_output_tokens: 900,
    fit: true,
    min_output_tokens: 70,
  };
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      spending(service(n), org).decide(tokens, n % 4 === 3 ? `key ${n}` : undefined),
    ),
  );
  const allowed = answers.filter(({ status }) => status === 200);
  expect(tally(answers)).toEqual({
    passed: allowed.length,
    '402 spend_cap_exceeded': 200 - allowed.length,
  });
  const through = spending(service(1), org);
  const { held } = countedBy(await through.balanced(), 'spend_cap');
  const outputTokens = allowed.reduce((sum, { json }) => sum + BigInt(json.max_output_tokens), 0n);
  const nanosPerToken = held / outputTokens;
  expect(held).toBe(outputTokens * nanosPerToken);
  expect(held).toBeLessThanOrEqual(nanos('0.999999'));
  expect(held).toBeGreaterThan(nanos('0.999999') - 70n * nanosPerToken);
});

test('a limit changed through one process is obeyed by the other on its next decision', async () => {
  const org = await capped('1');
  const [changer, other] = [spending(service(0), org), spending(service(1), org)];
  const ask = async () => outcome(await other.decide({ estimated_cost_usd: '0.001', customer_id: 'c' }));
  expect(await ask()).toBe('passed');
  // Notifications reach the other process too late, so it must read the new cap from the database.
  proxy?.delayNotices(200);
  for (let n = 0; n < 10; n += 1) {
    await changer.cap('0');
    expect(await ask()).toBe('402 spend_cap_exceeded');
    await changer.cap('1');
    expect(await ask()).toBe('passed');
  }
  const base = `/v1/orgs/${org.id}`;
  const { json: budget } = await changer.send('POST', `${base}/budgets`, {
    name: 'none',
    scope_kind: 'org',
    period: 'month',
    limit_usd: '0',
  });
  expect(await ask()).toBe('402 budget_exceeded');
  await changer.send('PATCH', `${base}/budgets/${budget.id}`, { limit_usd: '1' });
  expect(await ask()).toBe('passed');
  await changer.send('PATCH', `${base}/budgets/${budget.id}`, { limit_usd: '0.0119' });
  expect(await ask()).toBe('402 budget_exceeded');
  await changer.send('DELETE', `${base}/budgets/${budget.id}`);
  expect(await ask()).toBe('passed');
  await changer.send('POST', `${base}/customer-limits`, { customer_id: '*', period: 'day', limit_usd: '0' });
  expect(await ask()).toBe('402 budget_exceeded');
  proxy?.delayNotices(0);
  await other.balanced();
});

test('a settle that meets the expiry of its hold is posted once, and marked where it came late', async () => {
  const org = await capped('10');
  const through = spending(service(0), org);
  const count = 60;
  const holds = await Promise.all(
    Array.from({ length: count }, async () => {
      const { json } = await through.decide({ estimated_cost_usd: '0.1', expires_in_seconds: 1 });
      return { id: String(json.decision_id), expiresAtMs: Date.parse(json.expires_at) };
    }),
  );
  // Two runs claim each hold at the same time, from just before its expiry until after its release.
  const claims = await Promise.all(
    holds.map(async ({ id, expiresAtMs }, n) => {
      await pause(Math.max(0, expiresAtMs + (n - 10) * 30 - Date.now()));
      return Promise.all(
        ['a', 'b'].map((name, number) =>
          spending(service(number), org).run({
            decision_id: id,
            cost_usd: '0.07',
            external_id: `${name} ${n}`,
          }),
        ),
      );
    }),
  );
  let late = 0;
  for (const both of claims) {
    expect(both.map(outcome).sort()).toEqual(['409 conflict', 'passed']);
    const [posted] = both.filter(({ status }) => status === 201);
    expect([[], ['late']]).toContainEqual(posted?.json.marks);
    late += posted?.json.marks.length ?? 0;
  }
  expect(late, 'settles that came late').toBeGreaterThan(0);
  await eventually(async () => expect(await through.holds()).toEqual([]));
  const counted = countedBy(await through.balanced(), 'spend_cap');
  expect(counted).toEqual({ settled: nanos('0.07') * BigInt(count), held: 0n });
  const runs = await through.runs();
  expect(runs.filter(({ marks }) => marks.includes('late'))).toHaveLength(late);
  expect(new Set(runs.map(({ decision_id }) => decision_id)).size).toBe(count);
});

const terminated = 'SIGTERM under load: every acknowledged decision and run is there afterwards (seed %d)';
test.each(seeds)(terminated, async (seed) => {
  const org = await capped('40');
  await limitSpenders(spending(service(0), org), org.id, {
    budget: nanos('30'),
    customer: nanos('20'),
    credits: nanos('20'),
  });
  let asked = [service(0)];
  const spenders = startSpenders({ org, clients: 8, seed, services: () => asked });
  await eventually(() => expect(spenders.answers()).toBeGreaterThan(100));
  const ended = await service(0).end('SIGTERM');
  expect(ended).toEqual({ code: 0, signal: null });
  const restarted = await startPurser(settings);
  services = [restarted, ...services.slice(1)];
  // On PostgreSQL the other process knows everything that the first one acknowledged.
  asked = [service(1)];
  await spenders.quiet();
  await expectAcknowledged(spending(service(1), org), spenders.acknowledged);
  spenders.goOn();
  await spenders.stop();
  await expectAcknowledged(spending(service(0), org), spenders.acknowledged);
  await expectRuns(spending(service(0), org), spenders.acknowledged);
});

/**
 * Returns a window length of about an hour for which most of the current window is left, so that it does not end during
 * the test.
 */
function windowSecondsFromNow(): number {
  const nowSeconds = Date.now() / 1_000;
  let seconds = 3_600;
  while (nowSeconds % seconds > seconds / 4) {
    seconds += 1;
  }
  return seconds;
}

/** Must be the last test: it leaves the ledger of the embedded engine an hour ahead of the clock. */
test('a clock that is set back by a window moves no charge into the earlier window', async () => {
  const windowSeconds = windowSecondsFromNow();
  const org = await createSpendingOrg(service(0));
  const policy = {
    name: 'hourly',
    match: {},
    unit: 'usd',
    limit: '1',
    window_seconds: windowSeconds,
    kind: 'quota',
  };
  const put = await service(0).request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
    key: operatorKey,
    body: { policies: [policy] },
  });
  expect(put.status, put.text).toBe(200);
  const before = spending(service(0), org);
  const run = await before.run({ cost_usd: '0.9' });
  expect(run.status, run.text).toBe(201);
  const held = await before.decide({ estimated_cost_usd: '0.05' });
  expect(held.status, held.text).toBe(200);
  await Promise.all(services.map((one) => one.end('SIGKILL')));

  const shim = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));
  const late = await startPurser({
    ...settings,
    NODE_OPTIONS: `--import ${shim}`,
    CLOCK_SHIFT_MS: String(-windowSeconds * 1_000),
  });
  const after = spending(late, org);
  // In the previous window the full quota was available.
  expect(outcome(await after.decide({ estimated_cost_usd: '0.06' }))).toBe('402 quota_exhausted');
  expect(outcome(await after.run({ cost_usd: '0.06' }))).toBe('429 quota_exhausted');
  const second = await after.run({ cost_usd: '0.05' });
  expect(second.status, second.text).toBe(201);
  expect(Date.parse(second.json.charged_at)).toBeGreaterThanOrEqual(Date.parse(run.json.charged_at));
  const settled = await after.run({ cost_usd: '0.04', decision_id: held.json.decision_id });
  expect(settled.status, settled.text).toBe(201);
  expect(Date.parse(settled.json.charged_at)).toBeGreaterThanOrEqual(Date.parse(run.json.charged_at));
  expect(outcome(await after.decide({ estimated_cost_usd: '0.01' }))).toBe('passed');
  const counted = countedBy(await after.balanced(), 'quota');
  expect(counted).toEqual({ settled: nanos('0.99'), held: nanos('0.01') });
  await late.end('SIGTERM');
});
