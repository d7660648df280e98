/** How processes learn that a subscription of an org, or its secret, changed, and that there is something to deliver. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'webhooks';

export function announceWebhooks(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Hears the id of each org whose subscriptions changed; null means that any of them may have. */
export function onWebhooksChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(channel, heard);
}
