/** Change notifications for subscriptions and their secrets, and for new deliveries. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'webhooks';

export function notifyWebhooksChanged(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/**
 * Calls the listener with the id of each org whose subscriptions changed; null means that any of them may have changed.
 */
export function onWebhooksChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
