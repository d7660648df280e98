/** How processes learn that an org changed: its standing and allow-list are part of what they remember of keys. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'org_changed';

export function announceOrgChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(channel, orgId);
}

/** Hears the id of each org that changed; null means that any of them may have. */
export function onOrgChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(channel, heard);
}
