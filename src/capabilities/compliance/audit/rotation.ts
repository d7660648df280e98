/**
 * Replaces the key that signs. Anchors are signed anew with it: what an anchor stands for is gone, so nothing else could show
 * that a key signed one after it was replaced. From then on no anchor of the old key is believed, and retention builds on none.
 */
import type { Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { readAnchors, updateTokens } from './queries.ts';
import { isGenuineAnchor, type Said, tokenOpener } from './signing.ts';
import type { PublicKeys, Signer } from './signing-keys.ts';

const anchorsPerRead = 500;

/** Returns the keys from before. */
export async function replaceKey(tx: Transaction, signer: Signer, now: Date): Promise<PublicKeys> {
  const before = await signer.rotate(tx, now);
  const open = tokenOpener(before.current === undefined ? [] : [before.current]);
  const yielder = createYielder();
  for (let after: string | undefined = ''; after !== undefined; ) {
    const anchors = await readAnchors(tx, after, anchorsPerRead);
    const said: Said[] = [];
    for (const anchor of anchors) {
      const { tenant_id: org_id, seq, hash } = anchor;
      // One that nobody has signed stays as it is, to be found.
      if (isGenuineAnchor(open, org_id, anchor)) {
        said.push({ kind: 'anchor', org_id, seq, hash, at: now.toISOString() });
      }
      await yielder.yieldIfDue();
    }
    const tokens = await signer.signAll(tx, said);
    await updateTokens(
      tx,
      said.map(({ org_id }, index) => ({ tenant_id: org_id, token: tokens[index] as string })),
    );
    after = anchors.length === anchorsPerRead ? anchors.at(-1)?.tenant_id : undefined;
  }
  return before;
}
