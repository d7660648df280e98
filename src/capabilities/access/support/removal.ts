/** Removes what is old of the record of support access, as the audit log loses what it says of the same requests. */
import type { Transaction } from '../../../platform/db/database.ts';
import { deleteOldAccess, deleteOldGrants } from './queries.ts';

export interface AccessRemoval {
  readonly orgId: string;
  /** What was done at this time and later stays, and so does every grant that was good then. */
  readonly before: Date;
  readonly limit: number;
}

/** One bounded batch; returns how many entries or grants are gone. */
export async function removeOldAccess(tx: Transaction, removal: AccessRemoval): Promise<number> {
  const entries = await deleteOldAccess(tx, removal);
  // Grants come last: an entry names the one that it was under.
  return entries > 0 ? entries : deleteOldGrants(tx, removal);
}
