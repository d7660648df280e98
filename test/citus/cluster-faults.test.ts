/**
 * Money on a Citus cluster whose workers are killed, and whose shards are moved, while clients spend: the orgs of other workers do
 * not notice, and nothing that was acknowledged is lost or counted twice.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lockFreeOrgs, lockOrg, lockOrgs } from '../../src/ledger/postgres/lock-orgs.ts';
import type { Transaction } from '../../src/platform/db/database.ts';
import { openPostgres } from '../../src/platform/db/postgres/postgres.ts';
import { createLog } from '../../src/platform/log.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { type CitusWorld, openCitusWorld } from '../support/citus-world.ts';
import { eventually } from '../support/eventually.ts';
import { createSpendingOrg, nanos, type SpendingOrg, spending } from '../support/money.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import {
  expectAcknowledged,
  expectRuns,
  limitSpenders,
  type Spenders,
  startSpenders,
} from '../support/spenders.ts';

const unavailable = { status: 503, code: 'service_unavailable' };
const orgsPerWorker = 2;
const seed = 1;

let world: CitusWorld;
let services: ServiceProcess[];
beforeAll(async () => {
  world = await openCitusWorld(['fsync=on']);
  const settings = { ...settingsOf(world.place), SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };
  services = [await startPurser(settings), await startPurser(settings)];
});
afterAll(async () => {
  await endAllProcesses();
  await world?.close();
});

function service(): ServiceProcess {
  const [first] = services;
  if (first === undefined) {
    throw new Error('no service was started');
  }
  return first;
}

/** Creates orgs with limits until each worker has some. */
async function orgsOnBothWorkers(): Promise<SpendingOrg[][]> {
  const byWorker: SpendingOrg[][] = [[], []];
  for (let left = 100; byWorker.some(({ length }) => length < orgsPerWorker) && left > 0; left -= 1) {
    const org = await createSpendingOrg(service(), `Spender ${left}`);
    const own = byWorker[await world.workerOf(org.id)];
    if (own !== undefined && own.length < orgsPerWorker) {
      own.push(org);
      const through = spending(service(), org);
      expect((await through.cap('500')).status).toBe(200);
      const limits = { budget: nanos('400'), customer: nanos('300'), credits: nanos('300') };
      await limitSpenders(through, org.id, limits);
    }
  }
  return byWorker;
}

function spendersOf(org: SpendingOrg, index: number): Spenders {
  return startSpenders({ org, clients: 2, seed: seed + index, services: () => services });
}

async function expectNothingLost(orgs: readonly SpendingOrg[], spenders: readonly Spenders[]): Promise<void> {
  await Promise.all(spenders.map((one) => one.quiet()));
  for (const [index, org] of orgs.entries()) {
    const { acknowledged } = spenders[index] as Spenders;
    expect(acknowledged.effects).toBeGreaterThan(0);
    await expectAcknowledged(spending(service(), org), acknowledged);
    await expectRuns(spending(service(), org), acknowledged);
  }
}

const answers = (spenders: readonly Spenders[]) => spenders.map((one) => one.answers());

async function expectProgress(spenders: readonly Spenders[], by: number): Promise<void> {
  const before = answers(spenders);
  await eventually(() => {
    for (const [index, now] of answers(spenders).entries()) {
      expect(now).toBeGreaterThan((before[index] ?? 0) + by);
    }
  });
}

describe('a worker that is killed under load', () => {
  test('makes only its orgs unavailable, loses nothing, and recovers unaided', async () => {
    const byWorker = await orgsOnBothWorkers();
    const orgs = byWorker.flat();
    const spenders = orgs.map(spendersOf);
    const [kept = [], lost = []] = byWorker;
    const keptSpenders = spenders.slice(0, kept.length);
    const lostSpenders = spenders.slice(kept.length);
    await expectProgress(spenders, 10);

    const worker = world.cluster.workers[1];
    await worker?.kill();
    try {
      await Promise.all(lostSpenders.map((one) => one.allRefused()));
      // The orgs of the other worker are decided for and charged, by both processes.
      await expectProgress(keptSpenders, 20);
      for (const org of lost) {
        const through = spending(service(), org);
        expect(await through.decide({ estimated_cost_usd: '0.01' })).toMatchObject(unavailable);
        expect(await through.run({ cost_usd: '0.01' })).toMatchObject(unavailable);
      }
      expect((await service().request('GET', '/readyz')).status).toBe(200);
    } finally {
      await worker?.start();
    }
    await expectProgress(spenders, 10);
    await expectNothingLost(orgs, spenders);
    await Promise.all(spenders.map((one) => one.stop()));
  });
});

describe('shards that are moved under load', () => {
  test('lose nothing and overspend nothing', async () => {
    const orgs = (await orgsOnBothWorkers()).flat();
    const spenders = orgs.map(spendersOf);
    await expectProgress(spenders, 10);
    const before = await Promise.all(orgs.map(({ id }) => world.workerOf(id)));
    for (const round of [1, 2]) {
      await exchangeShards();
      await expectProgress(spenders, 5);
      const after = await Promise.all(orgs.map(({ id }) => world.workerOf(id)));
      expect(after).toEqual(round === 1 ? before.map((index) => 1 - index) : before);
    }
    await expectNothingLost(orgs, spenders);
    await Promise.all(spenders.map((one) => one.stop()));
  });

  test.each<[string, (tx: Transaction, orgId: string) => Promise<unknown>]>([
    ['lockOrg', lockOrg],
    ['lockFreeOrgs', (tx, orgId) => lockFreeOrgs(tx, [orgId])],
    ['lockOrgs', (tx, orgId) => lockOrgs(tx, [orgId])],
  ])('shards that are moved under load stay where they are while an org is locked (%s)', async (_, lock) => {
    const org = await createSpendingOrg(service());
    const db = await openPostgres({ url: world.url, connections: 2, log: createLog('silent') });
    try {
      await db.transaction((tx) => lockOrg(tx, org.id));
      const ended: string[] = [];
      const moved = exchangeShards(org.id).then(() => ended.push('move'));
      // The move waits at its start for transactions that run already: this one begins behind that.
      await eventually(async () => expect(await isCopying()).toBe(true));
      await db.transaction(async (tx) => {
        await lock(tx, org.id);
        const [backend] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        // If the move ended first, another process could lock the org on the new worker.
        await eventually(async () =>
          expect(ended.includes('move') || (await isMoveBlockedBy(backend?.pid))).toBe(true),
        );
        ended.push('transaction');
      });
      await moved;
      expect(ended).toEqual(['transaction', 'move']);
    } finally {
      await db.close();
    }
  });

  /** True once a shard that is moved follows the changes of its original. */
  async function isCopying(): Promise<boolean> {
    const copying = await world.query(
      `SELECT 1 FROM run_command_on_workers('SELECT count(confirmed_flush_lsn) FROM pg_replication_slots')
        WHERE result::int > 0`,
    );
    return copying.length > 0;
  }

  async function isMoveBlockedBy(pid: number | undefined): Promise<boolean> {
    const blocked = await world.query(
      `SELECT 1 FROM pg_stat_activity
        WHERE query LIKE 'SELECT citus_move_shard_placement(%' AND $1 = ANY(pg_blocking_pids(pid))`,
      [pid],
    );
    return blocked.length > 0;
  }

  /** Moves every shard, or that of one org, to the other worker, with the shards that are colocated with it. */
  async function exchangeShards(orgId?: string): Promise<void> {
    const placements = await world.query<{ shard: string; port: number }>(
      `SELECT s.shardid::text AS shard, n.nodeport AS port
         FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
        WHERE s.logicalrelid = 'ledger_orgs'::regclass
          AND ($1::text IS NULL OR s.shardid = get_shard_id_for_distribution_column('ledger_orgs', $1::text))`,
      [orgId ?? null],
    );
    const ports = world.cluster.workers.map(({ url }) => Number(new URL(url).port));
    for (const { shard, port } of placements) {
      const target = ports.find((other) => other !== port);
      await world.query(
        `SELECT citus_move_shard_placement(${shard}, '127.0.0.1', ${port}, '127.0.0.1', ${target}, 'force_logical')`,
      );
    }
  }
});
