/** How every process learns that the limits of an org changed. */
import type { RunOnlyCheck } from '../../kernel/limits.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';

const channel = 'limits';

/** For what else the decisions of an org depend on: its time zone, its read limit. */
export async function notifyLimitsChanged(tx: Transaction, orgId: string): Promise<void> {
  await notifyLimitChanged(tx, orgId);
  // In another time zone other windows count; those of now must not come back as they were.
  await tx.query(
    `DELETE FROM counters USING limits
      WHERE counters.org_id = $1 AND limits.org_id = $1 AND limits.id = counters.limit_id
        AND limits.period IS NOT NULL AND limits.timezone IS NULL`,
    [orgId],
  );
}

/** A limit changed. Until the transaction ends nobody else decides for the org, so counters can be forgotten after it. */
export async function notifyLimitChanged(tx: Transaction, orgId: string): Promise<void> {
  await tx.query(
    `INSERT INTO ledger_orgs (org_id, limits_version) VALUES ($1, 1)
     ON CONFLICT (org_id) DO UPDATE SET limits_version = ledger_orgs.limits_version + 1`,
    [orgId],
  );
  await tx.notify(channel, orgId);
}

/** A gate that counts nothing stands before the org's runs from now on, or no longer does. */
export async function notifyRunOnlyCheckChanged(
  tx: Transaction,
  orgId: string,
  gate: RunOnlyCheck,
  applies: boolean,
): Promise<void> {
  await notifyLimitChanged(tx, orgId);
  await tx.query(
    `UPDATE ledger_orgs
        SET other_gates = array_remove(other_gates, $2::text) || CASE WHEN $3::bool THEN ARRAY[$2::text] ELSE '{}' END
      WHERE org_id = $1`,
    [orgId, gate, applies],
  );
}

/** `null`: notices may have been missed, so anything may have changed. */
export function onLimitsChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
