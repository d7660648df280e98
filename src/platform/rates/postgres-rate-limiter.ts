/**
 * Counts rates in PostgreSQL, by the clock of the database, so that any number of processes share them exactly. Waiting requests
 * are counted together in one transaction. Its commit is not synced to disk, so after a crash of the database the last takes may be
 * forgotten. While the database is unavailable, this process counts in memory and allows its share.
 */
import { performance } from 'node:perf_hooks';
import { agreedNow } from '../db/agreed-now.ts';
import type { Database } from '../db/database.ts';
import { FairShare } from '../fair-share.ts';
import type { Job } from '../jobs/jobs.ts';
import type { Log } from '../log.ts';
import type { SharedClock } from '../time/clock.ts';
import { createInMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import { Meters } from './meters.ts';
import {
  allowed,
  type RateDebit,
  type RateLimiter,
  type RateVerdict,
  returnedDebits,
} from './rate-limiter.ts';
import { deleteUntouched, lockMeters, orgIdOf, rowsOf, writeMeters } from './stored-meters.ts';

export interface PostgresRateOptions {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly log: Log;
  /** Returns the number of live processes among which the limits are divided while the database is unavailable. */
  share(): number;
}

interface Request {
  readonly kind: 'take' | 'giveBack';
  readonly debits: readonly RateDebit[];
  /** Resolves the request. `verdict` is undefined if the database is unavailable. */
  resolve(verdict: RateVerdict | undefined): void;
}

const waitingMax = 20_000;
const requestsPerBatch = 500;
/** Maximum number of concurrent transactions. Each needs a connection. On a Citus cluster, each is for another group of orgs. */
const batchesMax = 2;
/** Time without attempts after the database was unavailable, so that further requests do not wait for it. */
const retryAfterMs = 1_000;

export function createPostgresRateLimiter({ db, clock, log, share }: PostgresRateOptions): RateLimiter {
  const memory = createInMemoryRateLimiter({ share });
  /** Debits that were taken in memory. They must not be given back to the database. */
  const takenFromMemory = new WeakSet<readonly RateDebit[]>();
  const places = new FairShare({ capacity: waitingMax });
  /** Waiting requests by group of orgs. A group has an entry in `running` while its batch runs. */
  const waiting = new Map<number | string, Request[]>();
  const running = new Map<number | string, Promise<void>>();
  /** Time before which the database is not tried again; 0 while it is available. */
  let awayUntilMs = 0;

  function enqueue(kind: Request['kind'], debits: readonly RateDebit[]): Promise<RateVerdict | undefined> {
    const orgId = orgIdOf(debits[0] as RateDebit);
    if (!places.tryTake(orgId)) {
      return Promise.resolve(deniedForNow(debits));
    }
    const answer = new Promise<RateVerdict | undefined>((resolve) => {
      const group = db.tenantGroups.groupOf(orgId) ?? orgId;
      const queue = waiting.get(group) ?? [];
      queue.push({ kind, debits, resolve });
      waiting.set(group, queue);
      startBatches();
    });
    return answer.finally(() => places.release(orgId));
  }

  function startBatches(): void {
    for (const group of waiting.keys()) {
      if (running.size >= batchesMax) {
        return;
      }
      if (!running.has(group)) {
        running.set(group, runGroup(group));
      }
    }
  }

  /** Runs the batches of a group until nothing waits. Requests of the same turn of the event loop join the first one. */
  async function runGroup(group: number | string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (let queue = waiting.get(group); queue !== undefined; queue = waiting.get(group)) {
      const batch = queue.splice(0, requestsPerBatch);
      if (queue.length === 0) {
        waiting.delete(group);
      }
      const verdicts = await count(batch);
      for (const [index, { resolve }] of batch.entries()) {
        resolve(verdicts?.[index]);
      }
    }
    running.delete(group);
    startBatches();
  }

  /** Returns the verdicts in the order of the requests; undefined if the database is unavailable. */
  async function count(batch: readonly Request[]): Promise<RateVerdict[] | undefined> {
    const rows = rowsOf(batch.flatMap(({ debits }) => debits));
    try {
      const verdicts = await db.transaction(
        async (tx) => {
          const meters = new Meters({ shares: () => 1, metersMax: Number.POSITIVE_INFINITY });
          const [{ now, states }] = await Promise.all([
            lockMeters(tx, rows, meters),
            tx.query(`SELECT set_config('synchronous_commit', 'off', true)`, []),
          ]);
          const nowMs = clock.agreed(now).getTime();
          const results = batch.map(({ kind, debits }) => {
            if (kind === 'take') {
              return meters.take(debits, nowMs);
            }
            meters.giveBack(debits, nowMs);
            return allowed;
          });
          await writeMeters(tx, rows, meters, states, nowMs);
          return results;
        },
        { readsFirst: true },
      );
      outageEnded();
      return verdicts;
    } catch (error) {
      outageBegan(error);
      return undefined;
    }
  }

  function outageBegan(error: unknown): void {
    const isNew = awayUntilMs === 0;
    awayUntilMs = performance.now() + retryAfterMs;
    if (isNew) {
      log.warn(
        { reason: String(error) },
        'rates cannot be counted in the database; each process allows its share of request rates',
      );
    }
  }

  function outageEnded(): void {
    if (awayUntilMs > 0) {
      awayUntilMs = 0;
      log.info('rates are counted in the database again');
    }
  }

  function takeFromMemory(debits: readonly RateDebit[], nowMs: number): RateVerdict {
    takenFromMemory.add(debits);
    return memory.take(debits, nowMs);
  }

  return {
    take(debits, nowMs) {
      if (debits.length === 0) {
        return allowed;
      }
      return performance.now() < awayUntilMs
        ? takeFromMemory(debits, nowMs)
        : enqueue('take', debits).then((verdict) => verdict ?? takeFromMemory(debits, nowMs));
    },
    giveBack(debits, nowMs, amounts) {
      if (takenFromMemory.delete(debits)) {
        memory.giveBack(debits, nowMs, amounts);
      } else if (debits.length > 0) {
        void enqueue('giveBack', returnedDebits(debits, amounts));
      }
    },
    async close() {
      while (running.size > 0) {
        await Promise.all(running.values());
      }
    },
  };
}

/** Denies a request because too many requests wait already. A denial cannot exceed a limit. */
function deniedForNow(debits: readonly RateDebit[]): RateVerdict {
  const available = debits.map((_, index) => ({ index, amount: 0n }));
  return { allowed: false, index: 0, retryAfterSeconds: 1, available };
}

/** Deletes meters that have recovered. */
export function untouchedMetersJob(db: Database, clock: SharedClock): Job {
  return {
    id: 'delete-untouched-rate-meters',
    everyMs: 60_000,
    runOnce: async () => deleteUntouched(db, await agreedNow(db, clock)),
  };
}
