/** Removes old entries of the support access log, together with those of the audit log. */
import type { Transaction } from '../../../platform/db/database.ts';
import { deleteOldAccess, deleteOldGrants } from './queries.ts';

export interface AccessRemoval {
  readonly orgId: string;
  /** Entries from this time on are kept, and so are grants that were valid then. */
  readonly before: Date;
  readonly limit: number;
}

/** Removes one bounded batch; returns the number of removed entries or grants. */
export async function removeOldAccess(tx: Transaction, removal: AccessRemoval): Promise<number> {
  const entries = await deleteOldAccess(tx, removal);
  // Grants are deleted last, because entries refer to them.
  return entries > 0 ? entries : deleteOldGrants(tx, removal);
}
