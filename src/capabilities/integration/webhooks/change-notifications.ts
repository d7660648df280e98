/** Change notifications for subscriptions and their secrets, and for new deliveries. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'webhooks';

export function announceWebhooks(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Calls the listener with the id of each org whose subscriptions changed; null means that any of them may have changed. */
export function onWebhooksChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(channel, heard);
}
