/**
 * Replaces the key that signs. Anchors are signed anew with it: what an anchor stands for is gone, so nothing else could show
 * that a key signed one after it was replaced. From then on no anchor of the old key is believed.
 */
import type { Transaction } from '../../platform/db/database.ts';
import { readAnchors, updateTokens } from './queries.ts';
import { type Said, states, tokenOpener } from './signing.ts';
import type { PublicKeys, Signer } from './signing-keys.ts';

const anchorsPerRead = 500;

/** Returns the keys from before. */
export async function replaceKey(tx: Transaction, signer: Signer, now: Date): Promise<PublicKeys> {
  const before = await signer.rotate(tx, now);
  const open = tokenOpener(before.current === undefined ? [] : [before.current]);
  for (let after: string | undefined = ''; after !== undefined; ) {
    const anchors = await readAnchors(tx, after, anchorsPerRead);
    // One that nobody has signed stays as it is, to be found.
    const genuine = anchors.filter((anchor) =>
      states(open(anchor.token), 'anchor', anchor.tenant_id, anchor),
    );
    const said = genuine.map(
      ({ tenant_id, seq, hash }): Said => ({
        kind: 'anchor',
        org_id: tenant_id,
        seq,
        hash,
        at: now.toISOString(),
      }),
    );
    const tokens = await signer.signAll(tx, said);
    await updateTokens(
      tx,
      genuine.map(({ tenant_id }, index) => ({ tenant_id, token: tokens[index] as string })),
    );
    after = anchors.length === anchorsPerRead ? anchors.at(-1)?.tenant_id : undefined;
  }
  return before;
}
