/**
 * The rate limiter interface. Rates are counted in this process (`in-memory-rate-limiter.ts`), or in a PostgreSQL
 * (`postgres-rate-limiter.ts`) or Redis (`redis-rate-limiter.ts`) that all processes share; all pass one suite,
 * `conformance.test.ts`. A limiter never throws and never delays a request for long: a rate limit protects the service, it
 * does not guard money.
 */

export interface RateDebit {
  /**
   * Names the meter: the org's id, a colon and the rest. All debits of one call belong to one org, so that they are on one
   * node of a Redis cluster.
   */
  readonly key: string;
  readonly limit: bigint;
  readonly windowSeconds: number;
  /** Maximum amount that is allowed at once. */
  readonly burst: bigint;
  readonly amount: bigint;
  /** True for a rolling window, which allows at most `limit` and ignores `burst`, instead of a token bucket. */
  readonly rolling?: boolean;
  /** True if the verdict must have what is left of this debit. All debits of one call agree on it. */
  readonly reports?: true;
}

export type RateVerdict =
  | {
      readonly allowed: true;
      /** The amount that is left of each debit, if the debits report it. */
      readonly remaining?: readonly bigint[];
    }
  | {
      readonly allowed: false;
      /** Index of the first debit that was denied. */
      readonly index: number;
      /**
       * Time after which all debits are allowed if nothing else is taken and none exceeds its maximum: an integer, at
       * least 1, and at most the window, unless the amount of a debit exceeds its limit.
       */
      readonly retryAfterSeconds: number;
      /** For each debit that was denied, its index and the amount that its meter allows now. */
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
   * Returns the debits of a request that was denied later on or, with `amounts`, a part of each debit of a request that took
   * less. Must be given the same array as `take`, once.
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

/** Shared by all requests that are allowed. */
export const allowed: RateVerdict = { allowed: true };
