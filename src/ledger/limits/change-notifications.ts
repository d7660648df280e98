/** Change notifications for the limits of an org, sent to every process. */
import type { RunOnlyCheck } from '../../kernel/limits.ts';
import { changeChannel } from '../../platform/db/change-channel.ts';
import type { Transaction } from '../../platform/db/database.ts';

const limitsChanged = changeChannel('limits');
export const onLimitsChange = limitsChanged.on;

/** Notifies of a change of the org that decisions depend on: its time zone, its read limit or its removal. */
export async function notifyLimitsChanged(tx: Transaction, orgId: string): Promise<void> {
  await notifyLimitChanged(tx, orgId);
  // Another time zone has other windows, so the counters of calendar windows in the org's time zone are deleted.
  await tx.query(
    `DELETE FROM counters USING limits
      WHERE counters.org_id = $1 AND limits.org_id = $1 AND limits.id = counters.limit_id
        AND limits.period IS NOT NULL AND limits.timezone IS NULL`,
    [orgId],
  );
}

/**
 * Increments the version of the org's limits and notifies every process. On PostgreSQL this locks the org until the transaction
 * ends. No other decision is made for the org until then, so counters can be deleted afterwards.
 */
export async function notifyLimitChanged(tx: Transaction, orgId: string): Promise<void> {
  if (alreadyNotified.get(tx) === orgId) {
    return;
  }
  await tx.query(
    `INSERT INTO ledger_orgs (org_id, limits_version) VALUES ($1, 1)
     ON CONFLICT (org_id) DO UPDATE SET limits_version = ledger_orgs.limits_version + 1`,
    [orgId],
  );
  await limitsChanged.notify(tx, orgId);
}

/** The organization whose version the transaction has already incremented for all of its changes (`notifyManyLimitsChanged`). */
const alreadyNotified = new WeakMap<Transaction, string>();

/**
 * Does the same as `notifyLimitChanged`, once for all later limit changes of the transaction, because updating one row thousands of
 * times takes quadratic time. Must not be called within a savepoint, whose rollback would undo it.
 */
export async function notifyManyLimitsChanged(tx: Transaction, orgId: string): Promise<void> {
  await notifyLimitChanged(tx, orgId);
  alreadyNotified.set(tx, orgId);
}

/** Records that a check without counters applies to the org's runs, or no longer applies. */
export async function notifyRunOnlyCheckChanged(
  tx: Transaction,
  orgId: string,
  check: RunOnlyCheck,
  applies: boolean,
): Promise<void> {
  await notifyLimitChanged(tx, orgId);
  await tx.query(
    `UPDATE ledger_orgs
        SET other_gates = array_remove(other_gates, $2::text) || CASE WHEN $3::bool THEN ARRAY[$2::text] ELSE '{}' END
      WHERE org_id = $1`,
    [orgId, check, applies],
  );
}
