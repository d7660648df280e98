/** How every process learns that the rules of an org changed. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'policies';

export async function announcePolicies(tx: Transaction, orgId: string): Promise<void> {
  await tx.notify(channel, orgId);
}

/** `null`: notices may have been missed, so any org's may have changed. */
export function onPoliciesChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
