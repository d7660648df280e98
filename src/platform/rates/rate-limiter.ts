/**
 * Where rates are counted: in this process's memory (`memory.ts`) or in a Redis that all processes share (`redis.ts`).
 * Both are held to one suite, `conformance.test.ts`. A limiter never throws and never keeps a request waiting for long:
 * a rate limit protects the service, it does not guard money.
 */

export interface RateTake {
  /**
   * Names what is counted: the org's id, a colon and the rest. All takes of one call are of one org, so that they live
   * in one place also where Redis is a cluster.
   */
  readonly key: string;
  readonly limit: bigint;
  readonly windowSeconds: number;
  /** How much may pass at once. */
  readonly burst: bigint;
  readonly amount: bigint;
  /** At most `limit` in any window's length, instead of a bucket that fills all the time; `burst` has no part in it. */
  readonly rolling?: boolean;
}

export type RateVerdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** Which take was the first to be refused. */
      readonly index: number;
      /** After which all of them pass, if nothing else is taken: a whole number, at least 1. */
      readonly retryAfterSeconds: number;
    };

export interface RateLimiter {
  /** All of them or none. */
  take(debits: readonly RateTake[], nowMs: number): RateVerdict | Promise<RateVerdict>;
  /** For a request that was refused later on: it takes nothing. With the very array that `take` allowed. */
  giveBack(takes: readonly RateTake[], nowMs: number): void;
  close(): Promise<void>;
}

/** The one verdict of most requests. */
export const allowed: RateVerdict = { allowed: true };
