/** Change notifications for routing policies and eval results, across processes. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'routing_changed';

export function notifyRoutingChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Calls `listener` with the id of the org that changed; null means that any org may have changed. */
export function onRoutingChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
