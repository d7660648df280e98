/** Change notifications for keys. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'key_changed';

export function notifyKeyChanged(tx: Transaction, digest: string): Promise<void> {
  return tx.notify(channel, digest);
}

/** Calls the listener with the digest of each key that changed; null means that any key may have changed. */
export function onKeyChange(db: Database, listener: (digest: string | null) => void): void {
  db.listen(channel, listener);
}
