/**
 * Expires the holds of an org on PostgreSQL under its lease, so that one process at a time expires them. The lease in `ledger_orgs`
 * is taken and renewed in the expiring transaction. If its process dies, the lease lapses.
 */
import type { Queryable } from '../../platform/db/database.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import { eachIfAllFail } from '../postings/each-if-all-fail.ts';
import type { DueHold } from './ledger-command.ts';
import { LedgerTransaction, type PostgresLedgerOptions } from './ledger-transaction.ts';
import { lockOrg } from './lock-orgs.ts';

export const leaseSeconds = 5;

/**
 * Returns false if another process has the lease. Uses transactions without other commands, because decisions in them would wait
 * for the expiry.
 */
export async function expireHolds<Run>(
  options: PostgresLedgerOptions<Run>,
  orgLimits: OrgLimitsCache,
  processId: string,
  orgId: string,
  holds: readonly DueHold[],
): Promise<boolean> {
  let isLeased = false;
  await eachIfAllFail(holds, async (some) => {
    isLeased = await options.db.transaction(async (tx) => {
      const isOurs = await leaseExpiry(tx, orgId, processId);
      if (isOurs) {
        await new LedgerTransaction(options, orgLimits, tx).run(
          async () => [await lockOrg(tx, orgId)],
          [{ orgId, commands: [{ kind: 'expire', holds: some }] }],
        );
      }
      return isOurs;
    });
  });
  return isLeased;
}

/** Locks an org, and takes or renews its lease. Returns false if another process has the lease. */
async function leaseExpiry(tx: Queryable, orgId: string, processId: string): Promise<boolean> {
  // The time is read separately: on Citus, an update of a table on another server must not contain a function of time.
  const [time] = await tx.query<{ now: Date; until: Date }>(
    'SELECT clock_timestamp() AS now, clock_timestamp() + make_interval(secs => $1) AS until',
    [leaseSeconds],
  );
  const rows = await tx.query(
    `INSERT INTO ledger_orgs AS org (org_id, expiry_process_id, expiry_until) VALUES ($1, $2, $3)
     ON CONFLICT (org_id) DO UPDATE
       SET expiry_process_id = excluded.expiry_process_id, expiry_until = excluded.expiry_until
       WHERE org.expiry_process_id = excluded.expiry_process_id OR org.expiry_until IS NULL
          OR org.expiry_until <= $4::timestamptz
     RETURNING 1 AS one`,
    [orgId, processId, time?.until, time?.now],
  );
  return rows.length > 0;
}

export async function endLeases(db: Queryable, processId: string, orgIds: readonly string[]): Promise<void> {
  if (orgIds.length > 0) {
    await db.query(
      'UPDATE ledger_orgs SET expiry_until = NULL WHERE org_id = ANY($1) AND expiry_process_id = $2',
      [orgIds, processId],
    );
  }
}
