/**
 * Removes the oldest entries of a log. The position and hash of the last removed entry are kept as a signed anchor,
 * from which the rest is verified. Therefore the signature of the previous anchor and the hashes of the entries are
 * checked first: a database administrator must not be able to pass off recent entries as removed by retention.
 */
import type { Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { type AuditEntry, chainStart } from './chain.ts';
import { ChainCheck } from './chain-check.ts';
import { findHead } from './head-queries.ts';
import { findAnchor, readEntries, removeUntil, upsertAnchor } from './queries.ts';
import { isGenuineAnchor, tokenOpener } from './signing.ts';
import type { Signer } from './signing-keys.ts';

export interface AuditRemoval {
  readonly tenantId: string;
  /** Entries from this time on are kept. */
  readonly before: Date;
  readonly now: Date;
  readonly limit: number;
}

/**
 * Removes one bounded batch and returns the number of removed entries. Throws, and removes nothing, if the log was
 * tampered with.
 */
export async function removeOldEntries(
  tx: Transaction,
  signer: Signer,
  { tenantId, before, now, limit }: AuditRemoval,
): Promise<number> {
  // Key rotation signs all anchors again, and must include this one.
  await signer.keep(tx);
  const anchor = await findAnchor(tx, tenantId);
  const start = anchor ?? chainStart;
  // The head is queried before the entries. If entries are appended in between, they are recent and kept, and the head
  // is not needed.
  const head = await findHead(tx, tenantId);
  const entries = await readEntries(tx, tenantId, start.seq, limit + 1);
  const young = entries.findIndex(({ at }) => at >= before.toISOString());
  const last = entries.slice(0, young === -1 ? limit : young).findLast(isDated);
  if (last === undefined) {
    return 0;
  }
  const { current } = await signer.publicKeys(tx);
  const open = tokenOpener(current === undefined ? [] : [current]);
  if (anchor !== undefined && !isGenuineAnchor(open, tenantId, anchor)) {
    throw new Error('audit log anchor is not signed with the current key; verify the log');
  }
  const count = entries.indexOf(last) + 1;
  // Includes the next entry, or the head of the chain, because it contains the hash of the last removed entry.
  const check = new ChainCheck({ start });
  const yielder = createYielder();
  for (const entry of entries.slice(0, count + 1)) {
    check.add(entry);
    await yielder.yieldIfDue();
  }
  const [finding] = check.finish(entries.length > count ? undefined : head);
  if (finding !== undefined) {
    throw new Error(`old audit entries were changed (${finding.kind} at ${finding.seq}); verify the log`);
  }
  const { seq, hash } = last;
  const said = { kind: 'anchor', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  await upsertAnchor(tx, tenantId, { seq, hash, token: await signer.sign(tx, said) });
  await removeUntil(tx, tenantId, seq);
  return count;
}

/**
 * Returns true if the hash covers the date. For a redacted entry from before commitments, only the list of its erasure covers the
 * date, which may be much later. Such an entry is removed together with a later, dated entry that is old enough.
 */
function isDated({ commitment, redactedBy }: AuditEntry): boolean {
  return commitment !== null || redactedBy === null;
}
