/** How processes learn that the detectors of an org changed. */

import { notifyRunOnlyCheckChanged } from '../../../ledger/limits/change-notifications.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';

const channel = 'safety';

/** `applies` says whether any is enabled, which is all that the edge wants to know. */
export async function announceDetectors(tx: Transaction, orgId: string, applies: boolean): Promise<void> {
  await notifyRunOnlyCheckChanged(tx, orgId, 'safety', applies);
  await tx.notify(channel, orgId);
}

/** Hears the id of each org whose detectors changed; null means that any of them may have. */
export function onDetectorsChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(channel, heard);
}
