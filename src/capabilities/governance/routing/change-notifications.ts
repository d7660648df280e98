/** How processes learn that an org routes otherwise: its policy changed, or a result came or went. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'routing_changed';

export function announceRouting(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Hears the id of each org; null means that any may have changed. */
export function onRoutingChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(channel, heard);
}
