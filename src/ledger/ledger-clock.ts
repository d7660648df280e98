/**
 * The time of a ledger, handled from outside of a running service: it is compared with the clock, and set back on an operator's
 * command after the clock was wrong. Postings never change, so they keep counting in the windows of their dates. Open holds are
 * admitted again at the current time.
 */
import { join } from 'node:path';
import { agreedNow } from '../platform/db/agreed-now.ts';
import type { Database } from '../platform/db/database.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import { resetEmbeddedClock } from './embedded/reset-clock.ts';
import { readStoredHolds } from './embedded/stored-holds.ts';
import { aheadMsMax } from './holds/elapsed-lifetimes.ts';
import type { ClockReset, MoveRuns } from './holds/readmit-hold.ts';
import { resetPostgresClock } from './postgres/reset-clock.ts';
import { findLatestPosting } from './postings/latest-times.ts';

/** Requires on the embedded engine that no service has the database open. */
export function resetLedgerClock(
  db: Database,
  dataDir: string,
  clock: SharedClock,
  moveRuns: MoveRuns,
): Promise<ClockReset> {
  return db.engine === 'embedded'
    ? resetEmbeddedClock(db, join(dataDir, 'holds'), { now: clock.now(), moveRuns })
    : resetPostgresClock(db, clock, moveRuns);
}

export interface LedgerTimes {
  readonly clock: Date;
  /**
   * Time by which the ledger is ahead of the clock, according to its last decision or posting and its newest open hold; 0 if it is
   * not ahead.
   */
  readonly aheadMs: number;
  /** Number of orgs whose time is ahead of the clock. */
  readonly orgsAhead: number;
  /** Number of open holds that were admitted ahead of the clock. */
  readonly holdsAhead: number;
  /** The latest posting, if it is dated ahead of the clock. */
  readonly latestPostingAt: Date | undefined;
}

/** Reads the times of a ledger. Requires on the embedded engine that no service has it open. */
export async function readLedgerTimes(
  db: Database,
  dataDir: string,
  sharedClock: SharedClock,
): Promise<LedgerTimes> {
  const clock = await agreedNow(db, sharedClock);
  const aheadOf = new Date(clock.getTime() + aheadMsMax);
  const [orgs] = await db.query<{ last: Date | null; ahead: number }>(
    'SELECT max(last_at) AS last, count(*) FILTER (WHERE last_at > $1)::int4 AS ahead FROM ledger_orgs',
    [aheadOf],
  );
  const holds = await readHoldTimes(db, dataDir, aheadOf);
  const latestPostingMs = await findLatestPosting(db, aheadOf);
  const latestMs = Math.max(orgs?.last?.getTime() ?? 0, holds.newestMs);
  return {
    clock,
    aheadMs: Math.max(0, latestMs - clock.getTime()),
    orgsAhead: orgs?.ahead ?? 0,
    holdsAhead: holds.ahead,
    latestPostingAt: latestPostingMs === 0 ? undefined : new Date(latestPostingMs),
  };
}

interface NewestHolds {
  readonly newestMs: number;
  readonly ahead: number;
}

async function readHoldTimes(db: Database, dataDir: string, aheadOf: Date): Promise<NewestHolds> {
  if (db.engine === 'postgres') {
    const [row] = await db.query<{ newest: Date | null; ahead: number }>(
      'SELECT max(admitted_at) AS newest, count(*) FILTER (WHERE admitted_at > $1)::int4 AS ahead FROM holds',
      [aheadOf],
    );
    return { newestMs: row?.newest?.getTime() ?? 0, ahead: row?.ahead ?? 0 };
  }
  const admittedMs = (await readStoredHolds(db, join(dataDir, 'holds'))).map(
    ({ admittedAtMs }) => admittedAtMs,
  );
  return {
    newestMs: admittedMs.reduce((newest, ms) => Math.max(newest, ms), 0),
    ahead: admittedMs.filter((ms) => ms > aheadOf.getTime()).length,
  };
}
