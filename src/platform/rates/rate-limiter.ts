/**
 * The rate limiter interface. Rates are counted in this process (`in-memory-rate-limiter.ts`), or in PostgreSQL
 * (`postgres-rate-limiter.ts`) or Redis (`redis-rate-limiter.ts`), which all processes share. All implementations pass one suite,
 * `conformance.test.ts`. A limiter never throws and never delays a request for long, because a rate limit protects the service, not
 * money.
 */

export interface RateDebit {
  /**
   * Name of the meter: the org's id, a colon and the rest. All debits of one call belong to one org, so that they are on one node
   * of a Redis cluster.
   */
  readonly key: string;
  readonly limit: bigint;
  readonly windowSeconds: number;
  /** Maximum amount allowed at once. */
  readonly burst: bigint;
  readonly amount: bigint;
  /** True for a rolling window instead of a token bucket. It allows at most `limit` and ignores `burst`. */
  readonly rolling?: boolean;
  /** True if the verdict must contain the remaining amount of this debit. It is the same for all debits of one call. */
  readonly reports?: true;
}

export type RateVerdict =
  | {
      readonly allowed: true;
      /** The remaining amount of each debit, if the debits report it. */
      readonly remaining?: readonly bigint[];
    }
  | {
      readonly allowed: false;
      /** Index of the first debit that was denied. */
      readonly index: number;
      /**
       * Seconds after which all debits are allowed if nothing else is taken and none exceeds its maximum. An integer, at least 1.
       * At most the window, unless the amount of a debit exceeds its limit.
       */
      readonly retryAfterSeconds: number;
      /** The index of each denied debit, and the amount that its meter allows now. */
      readonly available: readonly AvailableAmount[];
    };

export interface AvailableAmount {
  readonly index: number;
  readonly amount: bigint;
}

export interface RateLimiter {
  /** Takes all debits or none. */
  take(debits: readonly RateDebit[], nowMs: number): RateVerdict | Promise<RateVerdict>;
  /**
   * Gives back the debits of a request that was denied later. With `amounts`, gives back a part of each debit of a request that
   * took less. Must be called at most once for an array that was passed to `take`.
   */
  giveBack(debits: readonly RateDebit[], nowMs: number, amounts?: readonly bigint[]): void;
  close(): Promise<void>;
}

/** Returns the debits with the amounts that are given back. */
export function returnedDebits(
  debits: readonly RateDebit[],
  amounts: readonly bigint[] | undefined,
): readonly RateDebit[] {
  return amounts === undefined
    ? debits
    : debits.map((debit, index) => ({ ...debit, amount: amounts[index] ?? 0n }));
}

/** The verdict that all allowed requests share. */
export const allowed: RateVerdict = { allowed: true };
