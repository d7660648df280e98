/** Change notifications for the detectors of an org, across processes. */

import { notifyRunOnlyCheckChanged } from '../../../ledger/limits/change-notifications.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'safety';

/** `applies` is true if a detector is enabled, which is all that the edge needs. */
export async function notifyDetectorsChange(tx: Transaction, orgId: string, applies: boolean): Promise<void> {
  await notifyRunOnlyCheckChanged(tx, orgId, 'safety', applies);
  await tx.notify(channel, orgId);
}

/**
 * Calls `listener` with the id of the org whose detectors changed; null means that those of any org may have changed.
 */
export function onDetectorsChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
