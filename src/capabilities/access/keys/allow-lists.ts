/**
 * IP allow-lists of credentials. Credentials with the same list share it, because a list of 1,000 ranges takes about 250 KB outside
 * the heap, and every cached key of its org refers to one. A list is kept while a credential uses it.
 */
import { hash } from 'node:crypto';
import { type AddressList, addressList } from '../../../platform/http/message/address.ts';

/** Lists by the digest of their ranges. */
const lists = new Map<string, WeakRef<AddressList>>();

const collected = new FinalizationRegistry((digest: string) => {
  // Checked, because the list may have been created again since.
  if (lists.get(digest)?.deref() === undefined) {
    lists.delete(digest);
  }
});

/** Returns the list of these ranges; null if there are none. An org without ranges allows every address. */
export function allowListOf(cidrs: readonly string[]): AddressList | null {
  if (cidrs.length === 0) {
    return null;
  }
  const digest = hash('sha256', cidrs.join(' '));
  const existing = lists.get(digest)?.deref();
  if (existing !== undefined) {
    return existing;
  }
  const list = addressList(cidrs);
  lists.set(digest, new WeakRef(list));
  collected.register(list, digest);
  return list;
}
