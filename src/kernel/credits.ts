/** Burns credit packs: those that expire first, then the oldest. */
import type { Limit } from './limits.ts';

/** An amount taken from one counter. */
export interface Debit {
  readonly key: string;
  readonly amount: bigint;
}

export interface Pack {
  readonly limit: Limit;
  readonly key: string;
  /** The amount that is neither burned nor held. */
  readonly left: bigint;
}

/** A pack is live until it expires, even if it is empty. (A voided pack is no longer a limit.) */
export function isLive({ expiresAtMs }: Limit, atMs: number): boolean {
  return expiresAtMs === null || atMs < expiresAtMs;
}

export function inBurnOrder(a: Limit, b: Limit): number {
  const expiry = (a.expiresAtMs ?? Number.POSITIVE_INFINITY) - (b.expiresAtMs ?? Number.POSITIVE_INFINITY);
  // The difference is NaN if neither pack expires.
  return (Number.isNaN(expiry) ? 0 : expiry) || a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1);
}

/** Debits `amount` from packs in burn order; `rest` is the uncovered amount. */
export function burn(
  packs: readonly Pack[],
  amount: bigint,
): { readonly debits: Debit[]; readonly rest: bigint } {
  const debits: Debit[] = [];
  let rest = amount;
  for (const { key, left } of packs) {
    const debited = left < rest ? left : rest;
    if (debited > 0n) {
      debits.push({ key, amount: debited });
      rest -= debited;
    }
  }
  return { debits, rest };
}

/** Gives `amount` back, the last debit first; returns the remaining debits. */
export function unburn(debits: readonly Debit[], amount: bigint): Debit[] {
  let toReturn = amount;
  const remaining: Debit[] = [];
  for (const debit of [...debits].reverse()) {
    const returned = debit.amount < toReturn ? debit.amount : toReturn;
    toReturn -= returned;
    if (debit.amount > returned) {
      remaining.unshift({ key: debit.key, amount: debit.amount - returned });
    }
  }
  return remaining;
}

/** Adds up the debits of each counter, in the order of their first debits. */
export function merged(debits: readonly Debit[]): Debit[] {
  const byKey = new Map<string, bigint>();
  for (const { key, amount } of debits) {
    byKey.set(key, (byKey.get(key) ?? 0n) + amount);
  }
  return [...byKey].map(([key, amount]) => ({ key, amount }));
}

export function total(debits: readonly Debit[]): bigint {
  return debits.reduce((sum, { amount }) => sum + amount, 0n);
}
