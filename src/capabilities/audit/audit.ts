/** Appends to a tenant's audit log, in the transaction of the change that it tells of. */
import type { Transaction } from '../../platform/db/database.ts';
import { type AuditEntry, entryHash } from './chain.ts';
import { insertEntry, lockChain, moveChain } from './queries.ts';

export async function appendAudit(tx: Transaction, entry: Omit<AuditEntry, 'seq'>): Promise<void> {
  const head = await lockChain(tx, entry.tenantId);
  const numbered: AuditEntry = { ...entry, seq: head.seq + 1n };
  const hash = entryHash(head.hash, numbered);
  await insertEntry(tx, numbered, head.hash, hash);
  await moveChain(tx, entry.tenantId, { seq: numbered.seq, hash });
}
