/** Sets the time of a ledger that no service has open back to the clock. */
import type { Database } from '../../platform/db/database.ts';
import { aheadMsMax, isAhead } from '../holds/elapsed-lifetimes.ts';
import { type ClockReset, readmitHold } from '../holds/readmit-hold.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import { requireSameGeneration } from './hold-generation.ts';
import { type LoggedHold, openHoldLog } from './hold-log.ts';
import { restoreHolds } from './restore-holds.ts';

/** May be interrupted at any point and run again: the holds are first, and those that were admitted again are not ahead any more. */
export async function resetEmbeddedClock(db: Database, directory: string, now: Date): Promise<ClockReset> {
  const log = openHoldLog(directory, { durability: 'sync' });
  try {
    await requireSameGeneration(db, log);
    const ahead = (await restoreHolds(db, log)).filter(({ hold }) => isAhead(hold, now.getTime()));
    for (const orgId of new Set(ahead.map(({ hold }) => hold.orgId))) {
      await readmit(
        orgId,
        ahead.filter(({ hold }) => hold.orgId === orgId),
      );
    }
    const orgs = await db.query('UPDATE ledger_orgs SET last_at = $1 WHERE last_at > $2 RETURNING 1 AS one', [
      now,
      new Date(now.getTime() + aheadMsMax),
    ]);
    return { orgs: orgs.length, holds: ahead.length };
  } finally {
    log.close();
  }

  async function readmit(orgId: string, logged: readonly LoggedHold[]): Promise<void> {
    const limits = await readOrgLimits(db, orgId);
    for (let at = 0; at < logged.length; at += holdsPerLine) {
      const some = logged.slice(at, at + holdsPerLine);
      await log.append(some.map(({ hold }) => readmitHold(hold, limits, now.getTime())));
      log.remove(some.map(({ location }) => location));
    }
  }
}

const holdsPerLine = 500;
