/** Change notifications for orgs, whose status and IP allow-list are part of cached credentials. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'org_changed';

export function notifyOrgChanged(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Calls the listener with the id of each org that changed; null means that any org may have changed. */
export function onOrgChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
