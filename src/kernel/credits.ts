/** Burning credit packs down: the one that expires soonest first, then the oldest. */
import type { Limit } from './limits.ts';

/** What is taken of one counter. */
export interface Take {
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
): { readonly takes: Take[]; readonly rest: bigint } {
  const takes: Take[] = [];
  let rest = amount;
  for (const { key, left } of packs) {
    const taken = left < rest ? left : rest;
    if (taken > 0n) {
      takes.push({ key, amount: taken });
      rest -= taken;
    }
  }
  return { takes, rest };
}

/** Takes `amount` back out of takes, the last one first; what is left of them. */
export function unburn(takes: readonly Take[], amount: bigint): Take[] {
  let back = amount;
  const kept: Take[] = [];
  for (const take of [...takes].reverse()) {
    const returned = take.amount < back ? take.amount : back;
    back -= returned;
    if (take.amount > returned) {
      kept.unshift({ key: take.key, amount: take.amount - returned });
    }
  }
  return kept;
}
