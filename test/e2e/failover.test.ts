/**
 * Failover with a real streaming standby. A process that has seen the new timeline never decides on the former primary, and finds the
 * new primary by itself. With a synchronous standby nothing that was acknowledged is lost.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, test } from 'vitest';
import { endAllProcesses, runPurser, spawnPurser } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { createSpendingOrg, nanos, type SpendingOrg, spending } from '../support/money.ts';
import { hasPatroni, startPatroniCluster } from '../support/patroni-cluster.ts';
import { findPostgres } from '../support/postgres-cluster.ts';
import { type ReplicatedCluster, startReplicatedCluster } from '../support/replicated-cluster.ts';
import { scratch } from '../support/scratch.ts';
import { operatorKey, type ServiceProcess, startPurser } from '../support/service-process.ts';
import { expectAcknowledged, expectRuns, limitSpenders, startSpenders } from '../support/spenders.ts';

let cluster: ReplicatedCluster;
const directories: string[] = [];
afterEach(async () => {
  await endAllProcesses();
  await cluster?.remove();
  for (const directory of directories.splice(0)) {
    rmSync(directory, { recursive: true, force: true });
  }
});

const start = async (synchronous: boolean) => {
  cluster = await startReplicatedCluster(findPostgres() ?? '', { synchronous, where: scratch });
};

/** Settings of a process with a data directory of its own, as on a machine of its own. */
function settings(url = cluster.urlOf('postgres')): Record<string, string> {
  const dataDir = mkdtempSync(join(scratch, 'purser-failover-'));
  directories.push(dataDir);
  return {
    SVC_PORT: '0',
    SVC_DATA_DIR: dataDir,
    SVC_DATABASE_URL: url,
    SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey,
    SVC_SECRETS_KEY: '00'.repeat(32),
  };
}

const metric = async (service: ServiceProcess, name: string) => {
  const { text } = await service.request('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};
const readiness = (service: ServiceProcess) => service.request('GET', '/readyz');
const unavailable = { status: 503, code: 'service_unavailable' };

/** Decides dollar by dollar, in turn through these services, until a limit denies. Returns the dollars that were allowed. */
async function spendAll(org: SpendingOrg, services: readonly ServiceProcess[]): Promise<number> {
  for (let allowed = 0; ; allowed += 1) {
    const service = services[allowed % services.length] as ServiceProcess;
    const answer = await spending(service, org).decide({ estimated_cost_usd: '1' });
    if (answer.status !== 200) {
      expect(answer, answer.text).toMatchObject({ status: 402 });
      return allowed;
    }
  }
}

/** The standby has replayed everything that the primary has written. */
async function caughtUp(): Promise<void> {
  const [written] = await cluster.primary.query<{ lsn: string }>('SELECT pg_current_wal_lsn()::text AS lsn');
  await eventually(async () => {
    const [replayed] = await cluster.standby.query<{ done: boolean }>(
      `SELECT pg_last_wal_replay_lsn() >= '${written?.lsn}' AS done`,
    );
    expect(replayed?.done).toBe(true);
  });
}

const holdsOn = async (server: ReplicatedCluster['primary']) => {
  const [row] = await server.query<{ count: string }>('SELECT count(*)::text AS count FROM holds');
  return Number(row?.count);
};

describe('a former primary that stays up', () => {
  test('allows not one dollar through a process that has seen the new timeline', async () => {
    await start(false);
    const ownSettings = settings();
    const first = await startPurser(ownSettings);
    const second = await startPurser(settings());
    const org = await createSpendingOrg(first);
    expect((await spending(first, org).cap('9')).status).toBe(200);
    for (let n = 0; n < 5; n += 1) {
      expect((await spending(first, org).decide({ estimated_cost_usd: '1' })).status).toBe(200);
    }
    await caughtUp();
    await cluster.promote();
    for (const service of [first, second]) {
      await eventually(async () => {
        expect(await metric(service, 'svc_database_timeline')).toBe(2);
        expect(await metric(service, 'svc_database_former_primaries')).toBe(1);
        expect((await readiness(service)).status).toBe(200);
      });
    }
    expect(await spendAll(org, [first, second])).toBe(4);
    expect(await holdsOn(cluster.standby), 'on the new primary').toBe(9);
    expect(await holdsOn(cluster.primary), 'on the former primary').toBe(5);
    expect(first.log().some(({ msg }) => msg.includes('former primaries that still accept writes'))).toBe(
      true,
    );

    // The new primary goes away: the former one is not used instead, also not by a process that starts now.
    await cluster.standby.kill();
    const decide = (service: ServiceProcess) => spending(service, org).decide({ estimated_cost_usd: '1' });
    await eventually(async () => {
      const { json } = await readiness(first);
      expect(json).toMatchObject({ database_refused: expect.stringContaining('older than 2') });
    });
    expect(await decide(first)).toMatchObject(unavailable);
    // Readiness follows the next write probe.
    await eventually(async () => expect((await readiness(first)).status).toBe(503));
    await first.end('SIGTERM');
    const port = await freePort();
    const restarted = spawnPurser(['serve'], { ...ownSettings, SVC_PORT: String(port) });
    await eventually(() => expect(restarted.stdout()).toContain('waiting for the database: '));
    expect(restarted.stdout()).toContain('its timeline 1 is older than 2');
    const at = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    await eventually(async () => expect([await at('/healthz'), await at('/readyz')]).toEqual([200, 503]));
    expect(await at('/v1/runs')).toBe(503);
    const shown = await runPurser(['database'], ownSettings);
    expect(shown.stdout).toContain(
      `127.0.0.1:${cluster.primary.port}  primary, timeline 1, a former primary`,
    );

    // It comes back, and all continue by themselves.
    await cluster.standby.start();
    await eventually(async () => expect(await at('/readyz')).toBe(200));
    await eventually(async () => expect(await decide(second)).toMatchObject({ status: 402 }));
    expect(await holdsOn(cluster.primary), 'on the former primary, at the end').toBe(5);
  });

  test('a former primary that stays up is used again after an operator has accepted it', async () => {
    await start(false);
    const ownSettings = settings();
    const service = await startPurser(ownSettings);
    const org = await createSpendingOrg(service);
    await caughtUp();
    await cluster.promote();
    await eventually(async () => expect(await metric(service, 'svc_database_timeline')).toBe(2));
    const both = await runPurser(['database', 'accept'], ownSettings);
    expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining('are both primaries') });
    await cluster.standby.kill();
    const decide = () => spending(service, org).decide({ estimated_cost_usd: '1' });
    await eventually(async () => expect((await readiness(service)).json).toHaveProperty('database_refused'));
    expect(await decide()).toMatchObject(unavailable);
    const accepted = await runPurser(['database', 'accept'], ownSettings);
    expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining('on timeline 1') });
    await eventually(async () => expect(await decide()).toMatchObject({ status: 200 }));
    expect(await holdsOn(cluster.primary)).toBe(1);
  });

  test('a former primary that stays up is not used by a process that knows one address, once that leads to the new primary', async () => {
    await start(false);
    const { startPgBouncer } = await import('../support/pgbouncer.ts');
    const pooler = await startPgBouncer(cluster.primary.url);
    try {
      const service = await startPurser(settings(pooler.url));
      const org = await createSpendingOrg(service);
      const decide = () => spending(service, org).decide({ estimated_cost_usd: '1' });
      expect((await decide()).status).toBe(200);
      await caughtUp();
      await cluster.promote();
      await pooler.pointTo(cluster.standby.url);
      await eventually(async () => expect(await metric(service, 'svc_database_timeline')).toBe(2));
      await eventually(async () => expect((await decide()).status).toBe(200));
      // A pooler that leads back to the former primary is noticed by the first transaction.
      await pooler.pointTo(cluster.primary.url);
      const before = await holdsOn(cluster.primary);
      for (let n = 0; n < 5; n += 1) {
        expect(await decide()).toMatchObject(unavailable);
      }
      expect(await holdsOn(cluster.primary)).toBe(before);
    } finally {
      await endAllProcesses();
      await pooler.stop();
    }
  });
});

test('two primaries on the same timeline stop all decisions until one is shut down', async () => {
  await start(false);
  const service = await startPurser(settings());
  const org = await createSpendingOrg(service);
  const decide = () => spending(service, org).decide({ estimated_cost_usd: '1' });
  await caughtUp();
  await cluster.primary.kill();
  await cluster.promote();
  await eventually(async () => expect(await decide()).toMatchObject({ status: 200 }));
  await cluster.promoteFormerPrimary();
  const reason = 'are both primaries; shut one of them down';
  await eventually(async () =>
    expect((await readiness(service)).json).toMatchObject({
      status: 'unavailable',
      database_refused: expect.stringContaining(reason),
    }),
  );
  expect(await decide()).toMatchObject(unavailable);
  await eventually(() =>
    expect(service.log()).toContainEqual(
      expect.objectContaining({ level: 'error', msg: expect.stringContaining(reason) }),
    ),
  );
  await cluster.primary.kill();
  await eventually(async () => expect(await decide()).toMatchObject({ status: 200 }));
});

test('with a synchronous standby nothing acknowledged is lost, and processes find the new primary', async () => {
  await start(true);
  const services = [await startPurser(settings()), await startPurser(settings())];
  const [service] = services as [ServiceProcess];
  const org = await createSpendingOrg(service);
  const spend = spending(service, org);
  expect((await spend.cap('500')).status).toBe(200);
  await limitSpenders(spend, org.id, { budget: nanos('400'), customer: nanos('300'), credits: nanos('300') });
  const spenders = startSpenders({ org, clients: 8, seed: 1_801, services: () => services });
  await eventually(() => expect(spenders.answers()).toBeGreaterThan(200));
  await cluster.primary.kill();
  const killedAtMs = performance.now();
  await cluster.promote();
  const before = spenders.answers();
  await eventually(() => expect(spenders.answers()).toBeGreaterThan(before + 100));
  const seconds = (performance.now() - killedAtMs) / 1_000;
  await spenders.quiet();
  await expectAcknowledged(spend, spenders.acknowledged);
  spenders.goOn();
  await spenders.stop();
  await expectAcknowledged(spend, spenders.acknowledged);
  await expectRuns(spend, spenders.acknowledged);
  const { runs, holds } = spenders.acknowledged;
  process.stdout.write(
    `failover, synchronous standby: ${runs.size} runs and ${holds.size} holds acknowledged, 0 lost; 100 answers after ${seconds.toFixed(1)} s\n`,
  );
});

test.runIf(hasPatroni())(
  'Patroni promotes the standby of a lost machine: nothing acknowledged is lost',
  async () => {
    const patroni = await startPatroniCluster(findPostgres() ?? '');
    try {
      const service = await startPurser(settings(patroni.url));
      const org = await createSpendingOrg(service);
      const spend = spending(service, org);
      expect((await spend.cap('500')).status).toBe(200);
      await limitSpenders(spend, org.id, {
        budget: nanos('400'),
        customer: nanos('300'),
        credits: nanos('300'),
      });
      const spenders = startSpenders({ org, clients: 8, seed: 1_802, services: () => [service] });
      await eventually(() => expect(spenders.answers()).toBeGreaterThan(100));
      const lost = await patroni.loseLeader();
      const lostAtMs = performance.now();
      // Patroni waits until the lease of the lost leader has ended.
      await eventually(async () => expect([undefined, lost]).not.toContain(await patroni.leader()));
      const promotedAtMs = performance.now();
      const before = spenders.answers();
      await eventually(() => expect(spenders.answers()).toBeGreaterThan(before + 50));
      const servedAtMs = performance.now();
      await spenders.stop();
      await expectAcknowledged(spend, spenders.acknowledged);
      await expectRuns(spend, spenders.acknowledged);
      const { runs, holds } = spenders.acknowledged;
      const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(1);
      process.stdout.write(
        `failover, Patroni: ${runs.size} runs and ${holds.size} holds acknowledged, 0 lost; promoted after ${seconds(lostAtMs, promotedAtMs)} s, 50 answers ${seconds(promotedAtMs, servedAtMs)} s later\n`,
      );
    } finally {
      await endAllProcesses();
      await patroni.remove();
    }
  },
);

test('a commit that no synchronous standby has confirmed is not acknowledged', async () => {
  await start(true);
  const service = await startPurser(settings());
  const org = await createSpendingOrg(service);
  await cluster.standby.kill();
  const run = spending(service, org).run({ external_id: 'unconfirmed', cost_usd: '1' });
  // An administrator cancels the wait: PostgreSQL then reports success, with a warning.
  await eventually(async () => {
    const cancelled = await cluster.primary.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    );
    expect(cancelled.length).toBeGreaterThan(0);
  });
  expect(await run).toMatchObject(unavailable);
});
