/** Removes the beginning of a log. The last entry that goes is kept as a signed anchor: from there the rest is verified. */
import type { Transaction } from '../../platform/db/database.ts';
import { findAnchor, readEntries, removeUntil, upsertAnchor } from './queries.ts';
import type { Signer } from './signing-keys.ts';

export interface Removal {
  readonly tenantId: string;
  /** Entries of this time and later stay. */
  readonly before: Date;
  readonly now: Date;
  readonly limit: number;
}

/** One bounded batch; returns how many entries are gone. */
export async function removeOldEntries(
  tx: Transaction,
  signer: Signer,
  { tenantId, before, now, limit }: Removal,
): Promise<number> {
  const start = (await findAnchor(tx, tenantId))?.seq ?? 0;
  const entries = await readEntries(tx, tenantId, start, limit);
  const kept = entries.findIndex(({ at }) => at >= before.toISOString());
  const old = kept === -1 ? entries : entries.slice(0, kept);
  const last = old.at(-1);
  if (last === undefined) {
    return 0;
  }
  // Whoever replaces the key signs all anchors anew, and this one has to be among them.
  await signer.keep(tx);
  const { seq, hash } = last;
  const said = { kind: 'anchor', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  await upsertAnchor(tx, tenantId, { seq, hash, token: await signer.sign(tx, said) });
  await removeUntil(tx, tenantId, seq);
  return old.length;
}
