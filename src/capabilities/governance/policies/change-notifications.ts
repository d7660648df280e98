/** Change notifications for the rules of an org, across processes. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'policies';

export async function notifyPolicyChange(tx: Transaction, orgId: string): Promise<void> {
  await tx.notify(channel, orgId);
}

/** Calls `listener` with null if notifications may have been missed: the rules of any org may have changed. */
export function onPoliciesChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
