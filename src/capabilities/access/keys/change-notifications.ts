/** How processes learn that a key changed. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'key_changed';

export function announceKeyChange(tx: Transaction, digest: string): Promise<void> {
  return tx.notify(channel, digest);
}

/** Hears the digest of each key that changed; null means that any of them may have. */
export function onKeyChange(db: Database, heard: (digest: string | null) => void): void {
  db.listen(channel, heard);
}
