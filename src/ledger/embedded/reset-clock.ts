/** Resets the time of an embedded ledger to the clock. No service may have the ledger open. */
import type { Database } from '../../platform/db/database.ts';
import { aheadMsMax, isAhead } from '../holds/elapsed-lifetimes.ts';
import type { Hold } from '../holds/hold.ts';
import { type ClockReset, type MoveRuns, readmitHold } from '../holds/readmit-hold.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import { requireSameGeneration } from './hold-generation.ts';
import { type LoggedHold, openHoldLog } from './hold-log.ts';
import { byOrg } from './holds-by-org.ts';
import { restoreHolds } from './restore-holds.ts';

export interface EmbeddedReset {
  readonly now: Date;
  readonly moveRuns: MoveRuns;
}

/**
 * Can be interrupted at any point and run again. It readmits the holds first, and a readmitted hold is no longer ahead of the
 * clock. The runs are found by their own time.
 */
export async function resetEmbeddedClock(
  db: Database,
  directory: string,
  { now, moveRuns }: EmbeddedReset,
): Promise<ClockReset> {
  const log = openHoldLog(directory, { durability: 'sync' });
  try {
    await requireSameGeneration(db, log);
    let readmitted = 0;
    for (const [orgId, open] of byOrg(await restoreHolds(db, log))) {
      const ahead = open.filter(({ hold }) => isAhead(hold, now.getTime()));
      const others = open.map(({ hold }) => hold).filter((hold) => !isAhead(hold, now.getTime()));
      const holds = [...others, ...(await readmit(orgId, ahead))];
      await db.transaction((tx) => moveRuns(tx, orgId, holds, now));
      readmitted += ahead.length;
    }
    const orgs = await db.query('UPDATE ledger_orgs SET last_at = $1 WHERE last_at > $2 RETURNING 1 AS one', [
      now,
      new Date(now.getTime() + aheadMsMax),
    ]);
    return { orgs: orgs.length, holds: readmitted };
  } finally {
    log.close();
  }

  async function readmit(orgId: string, logged: readonly LoggedHold[]): Promise<Hold[]> {
    const limits = await readOrgLimits(db, orgId);
    const readmitted: Hold[] = [];
    for (let at = 0; at < logged.length; at += holdsPerLine) {
      const some = logged.slice(at, at + holdsPerLine);
      const holds = some.map(({ hold }) => readmitHold(hold, limits, now.getTime()));
      await log.append(holds);
      log.remove(some.map(({ location }) => location));
      readmitted.push(...holds);
    }
    return readmitted;
  }
}

const holdsPerLine = 500;
