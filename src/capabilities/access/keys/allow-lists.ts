/**
 * IP allow-lists of credentials. Credentials with the same list share it: a list of 1,000 ranges takes about 250 KB outside
 * the heap, and every cached key of its org refers to one. A list is kept as long as a credential uses it.
 */
import { hash } from 'node:crypto';
import { type AddressList, addressList } from '../../../platform/http/message/address.ts';

/** Keyed by the digest of the ranges. */
const lists = new Map<string, WeakRef<AddressList>>();

const collected = new FinalizationRegistry((digest: string) => {
  // The list may have been created again since.
  if (lists.get(digest)?.deref() === undefined) {
    lists.delete(digest);
  }
});

/** Returns the list of these ranges. Null if there are none: an org without ranges restricts no address. */
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
