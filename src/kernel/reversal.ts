/** Reversal: gives back everything that was paid for a charge, before another charge replaces it. */
import { type Counters, type LimitWindow, releaseDebits, reserveDebits } from './admission.ts';
import type { Debit } from './credits.ts';
import type { Amounts } from './limits.ts';
import { emptyReservation, type Paid, type PendingSettlement } from './settlement.ts';

export interface ReversalRequest {
  /** The counters that count the charge. */
  readonly windows: readonly LimitWindow[];
  /** The amounts that were charged. */
  readonly amounts: Amounts;
  readonly paid: Paid;
}

/** Prepares a reversal. The counters still include the charge until the reversal is committed. */
export function prepareReversal({ windows, amounts, paid }: ReversalRequest): PendingSettlement {
  return {
    reservation: emptyReservation,
    additional: [],
    windows,
    amounts: { usd: -amounts.usd, tokens: -amounts.tokens, requests: -amounts.requests },
    burned: paid.burned.map(({ key, amount }) => ({ key, amount: -amount })),
    uncovered: -paid.uncovered,
    prepaid: -paid.prepaid,
  };
}

/**
 * Calls `prepare` as if these debits from credit packs were given back already, so that the new charge burns the packs that it
 * would have burned instead of the old one. Other decisions see the packs without the refund until it is committed.
 */
export function withRefund<Result>(
  counters: Counters,
  debits: readonly Debit[],
  prepare: () => Result,
): Result {
  const refunded = debits.filter(({ key }) => counters.has(key));
  releaseDebits(counters, refunded);
  try {
    return prepare();
  } finally {
    reserveDebits(counters, refunded);
  }
}
