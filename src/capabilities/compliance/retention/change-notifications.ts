/** How processes learn that the retention policy of an org changed. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'retention';

export async function announcePolicy(tx: Transaction, orgId: string): Promise<void> {
  await tx.notify(channel, orgId);
}

/** Hears the id of each org whose policy changed; null means that any of them may have. */
export function onPolicyChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(channel, heard);
}
