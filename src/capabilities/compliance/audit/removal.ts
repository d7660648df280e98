/**
 * Removes the beginning of a log. The last entry that goes is kept as a signed anchor: from there the rest is verified. So what
 * is signed is looked at first: whoever can write to the database must not have young entries pass for what retention removed.
 */
import type { Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { type AuditEntry, chainStart } from './chain.ts';
import { ChainCheck } from './chain-check.ts';
import { findHead } from './head-queries.ts';
import { findAnchor, readEntries, removeUntil, upsertAnchor } from './queries.ts';
import { isGenuineAnchor, tokenOpener } from './signing.ts';
import type { Signer } from './signing-keys.ts';

export interface Removal {
  readonly tenantId: string;
  /** Entries of this time and later stay. */
  readonly before: Date;
  readonly now: Date;
  readonly limit: number;
}

/** One bounded batch; returns how many entries are gone. Throws, and removes nothing, where the log is not as it was written. */
export async function removeOldEntries(
  tx: Transaction,
  signer: Signer,
  { tenantId, before, now, limit }: Removal,
): Promise<number> {
  // Whoever replaces the key signs all anchors anew, and this one has to be among them.
  await signer.keep(tx);
  const anchor = await findAnchor(tx, tenantId);
  const start = anchor ?? chainStart;
  // Asked before the entries: what is appended meanwhile is young, and then the end is not needed.
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
    throw new Error('where retention ended is not signed with the key in use: verify the log');
  }
  const count = entries.indexOf(last) + 1;
  // The one behind them, or the end of the chain, remembers the hash of the last one.
  const check = new ChainCheck({ start });
  const yielder = createYielder();
  for (const entry of entries.slice(0, count + 1)) {
    check.add(entry);
    await yielder.yieldIfDue();
  }
  const [finding] = check.finish(entries.length > count ? undefined : head);
  if (finding !== undefined) {
    throw new Error(
      `old entries are not as they were written (${finding.kind} at ${finding.seq}): verify the log`,
    );
  }
  const { seq, hash } = last;
  const said = { kind: 'anchor', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  await upsertAnchor(tx, tenantId, { seq, hash, token: await signer.sign(tx, said) });
  await removeUntil(tx, tenantId, seq);
  return count;
}

/**
 * Whether its hash covers its date. Of one from before commitments only the list of its erasure does, which may be far behind:
 * it goes when a later one that is dated is old.
 */
function isDated({ commitment, redactedBy }: AuditEntry): boolean {
  return commitment !== null || redactedBy === null;
}
