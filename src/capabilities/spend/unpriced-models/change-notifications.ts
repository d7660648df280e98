/** Change notifications for the policies on models without a price, across processes. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'unpriced_policy_changed';

export function notifyUnpricedPolicyChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Calls `listener` with the id of the org whose policy changed; null means that the policy of any org may have changed. */
export function onUnpricedPolicyChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
