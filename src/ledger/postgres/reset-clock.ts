/** Sets the time of orgs that are ahead of the database's clock back to that clock. Services may run in the meantime. */
import type { Database, Transaction } from '../../platform/db/database.ts';
import type { SharedClock } from '../../platform/time/clock.ts';
import { aheadMsMax, isAhead } from '../holds/elapsed-lifetimes.ts';
import { type ClockReset, type MoveRuns, readmitHold } from '../holds/readmit-hold.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import { lockOrg } from './lock-orgs.ts';
import { deleteHolds, insertHolds, selectAllHolds } from './postgres-holds.ts';

/** Resets each org in a separate transaction, under its lock. */
export async function resetPostgresClock(
  db: Database,
  clock: SharedClock,
  moveRuns: MoveRuns,
): Promise<ClockReset> {
  const orgs = await db.query<{ org_id: string; last_at: Date; now: Date }>(
    'SELECT org_id, last_at, clock_timestamp() AS now FROM ledger_orgs ORDER BY org_id',
    [],
  );
  let reset: ClockReset = { orgs: 0, holds: 0 };
  for (const { org_id, last_at, now } of orgs) {
    if (last_at.getTime() > clock.agreed(now).getTime() + aheadMsMax) {
      const holds = await db.transaction((tx) => resetOrg(tx, org_id, clock, moveRuns));
      reset = { orgs: reset.orgs + 1, holds: reset.holds + holds };
    }
  }
  return reset;
}

/** Returns the number of holds that were readmitted. */
async function resetOrg(
  tx: Transaction,
  orgId: string,
  clock: SharedClock,
  moveRuns: MoveRuns,
): Promise<number> {
  const { now } = await lockOrg(tx, orgId);
  const at = clock.agreed(now);
  const limits = await readOrgLimits(tx, orgId);
  const ahead = (await selectAllHolds(tx, orgId)).filter((hold) => isAhead(hold, at.getTime()));
  const readmitted = ahead.map((hold) => readmitHold(hold, limits, at.getTime()));
  await deleteHolds(tx, ahead);
  await insertHolds(tx, readmitted);
  await moveRuns(tx, orgId, readmitted, at);
  // The next decisions create the counters again, including the holds in their windows.
  await tx.query('DELETE FROM counters WHERE org_id = $1', [orgId]);
  await tx.query('UPDATE ledger_orgs SET last_at = $2 WHERE org_id = $1', [orgId, at]);
  return ahead.length;
}
