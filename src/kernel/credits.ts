/** Burning credit packs down: the one that expires soonest first, then the oldest. */
import type { Limit } from './limits.ts';

/** What is taken of one counter. */
export interface Debit {
  readonly key: string;
  readonly amount: bigint;
}

export interface Pack {
  readonly limit: Limit;
  readonly key: string;
  /** What is neither burned nor held. */
  readonly left: bigint;
}

/** Live until it expires, even when it is empty. (A voided pack is no longer among the limits.) */
export function isLive({ expiresAtMs }: Limit, atMs: number): boolean {
  return expiresAtMs === null || atMs < expiresAtMs;
}

export function inBurnOrder(a: Limit, b: Limit): number {
  const expiry = (a.expiresAtMs ?? Number.POSITIVE_INFINITY) - (b.expiresAtMs ?? Number.POSITIVE_INFINITY);
  // Two that never expire differ by NaN.
  return (Number.isNaN(expiry) ? 0 : expiry) || a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1);
}

/** Takes `amount` from packs in burn order; `rest` is what they could not cover. */
export function burn(
  packs: readonly Pack[],
  amount: bigint,
): { readonly debits: Debit[]; readonly rest: bigint } {
  const debits: Debit[] = [];
  let rest = amount;
  for (const { key, left } of packs) {
    const taken = left < rest ? left : rest;
    if (taken > 0n) {
      debits.push({ key, amount: taken });
      rest -= taken;
    }
  }
  return { debits, rest };
}

/** Takes `amount` back out of takes, the last one first; what is left of them. */
export function unburn(debits: readonly Debit[], amount: bigint): Debit[] {
  let back = amount;
  const kept: Debit[] = [];
  for (const debit of [...debits].reverse()) {
    const returned = debit.amount < back ? debit.amount : back;
    back -= returned;
    if (debit.amount > returned) {
      kept.unshift({ key: debit.key, amount: debit.amount - returned });
    }
  }
  return kept;
}
