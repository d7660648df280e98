/** Appends to a tenant's audit log, in the transaction of what it tells of. */
import type { Transaction } from '../../platform/db/database.ts';
import { type AuditDraft, type AuditEntry, type ChainPlace, chained } from './chain.ts';
import { insertEntries, lockChain, moveChain } from './queries.ts';

/** Returns the entries with their places. Whoever appends to the same chain at the same time waits for the commit. */
export async function appendAudit(
  tx: Transaction,
  tenantId: string,
  drafts: readonly AuditDraft[],
): Promise<AuditEntry[]> {
  const head = await lockChain(tx, tenantId);
  const entries: AuditEntry[] = [];
  let place: ChainPlace = head;
  // Clocks of processes differ, and requests take their time: the order of the chain is to be that of time as well.
  let at = head.at.toISOString();
  for (const draft of drafts) {
    at = draft.at < at ? at : draft.at;
    const entry = chained(tenantId, place, { ...draft, at });
    entries.push(entry);
    place = entry;
  }
  await insertEntries(tx, entries);
  await moveChain(tx, tenantId, { seq: place.seq, hash: place.hash, at: new Date(at) });
  return entries;
}
