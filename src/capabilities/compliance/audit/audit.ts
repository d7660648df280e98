/** Appends to a tenant's audit log, in the transaction of the change that the entry records. */
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type AuditDraft, type AuditEntry, chained, type DatedDraft } from './chain.ts';
import type { ChainHeads } from './chain-heads.ts';
import { lockChain, moveChain, type StoredHead } from './head-queries.ts';
import { insertEntries } from './queries.ts';

export interface Appending {
  readonly ids: Ids;
  readonly heads: ChainHeads;
}

/**
 * Appends entries and returns them with their positions. Concurrent appends to the same chain wait for the commit. Entries are
 * dated under that lock by the database clock, which all processes share. So the order of the chain is the order of time, and no
 * entry is ever added to a period that was read already.
 */
export async function appendAudit(
  tx: Transaction,
  { ids, heads }: Appending,
  tenantId: string,
  drafts: readonly AuditDraft[],
): Promise<AuditEntry[]> {
  const head = await lockChain(tx, tenantId);
  const at = new Date(Math.max(head.at.getTime(), ids.agreed(head.now).getTime()));
  return appendDated(
    tx,
    heads,
    tenantId,
    head,
    drafts.map((draft) => ({ ...draft, id: ids.next('aud'), at: at.toISOString() })),
  );
}

/** Appends at the head of the chain, which must be locked. */
export async function appendDated(
  tx: Transaction,
  heads: ChainHeads,
  tenantId: string,
  head: StoredHead,
  drafts: readonly DatedDraft[],
): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (const draft of drafts) {
    entries.push(chained(tenantId, entries.at(-1) ?? head, draft));
  }
  const last = entries.at(-1);
  if (last !== undefined) {
    await insertEntries(tx, entries);
    const { seq, hash, at } = last;
    const mac = heads.macAfter(tenantId, head, last);
    await moveChain(tx, tenantId, { seq, hash, at: new Date(at), mac });
  }
  return entries;
}
