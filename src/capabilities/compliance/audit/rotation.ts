/**
 * Rotates the signing key. Anchors are signed again with the new key: the entries behind an anchor are gone, so nothing else could
 * prove that an old key did not sign it after its replacement. From then on, anchors signed with an old key are rejected, and
 * retention does not continue from them.
 */
import type { Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { readAnchors, updateTokens } from './queries.ts';
import { isGenuineAnchor, tokenOpener, type UnsignedStatement } from './signing.ts';
import type { PublicKeys, Signer } from './signing-keys.ts';

const anchorsPerRead = 500;

/** Returns the keys before the rotation. */
export async function replaceKey(tx: Transaction, signer: Signer, now: Date): Promise<PublicKeys> {
  const before = await signer.rotate(tx, now);
  const open = tokenOpener(before.current === undefined ? [] : [before.current]);
  const yielder = createYielder();
  for (let after: string | undefined = ''; after !== undefined; ) {
    const anchors = await readAnchors(tx, after, anchorsPerRead);
    const said: UnsignedStatement[] = [];
    for (const anchor of anchors) {
      const { tenant_id: org_id, seq, hash } = anchor;
      // Anchors without a valid signature stay unchanged, so that verification reports them.
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
