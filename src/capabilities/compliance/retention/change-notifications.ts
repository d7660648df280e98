/** Change notifications for the retention policy of an org. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'retention';

export async function notifyPolicyChanged(tx: Transaction, orgId: string): Promise<void> {
  await tx.notify(channel, orgId);
}

/** Calls the listener with the id of each org whose policy changed; null means that any policy may have changed. */
export function onPolicyChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
