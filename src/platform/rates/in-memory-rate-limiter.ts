/**
 * Counts rates in this process. Verdicts are values, never promises, for the hot path. If several processes share the limits, each
 * allows its share but at least one unit, so the sum over all processes is not exact.
 */
import { Meters } from './meters.ts';
import { type RateDebit, type RateLimiter, type RateVerdict, returnedDebits } from './rate-limiter.ts';

export interface InMemoryRateLimiter extends RateLimiter {
  take(debits: readonly RateDebit[], nowMs: number): RateVerdict;
  /** Number of meters in memory. */
  readonly size: number;
}

export interface MemoryOptions {
  /** Returns the number of live processes among which the limits are divided. */
  share(): number;
  /** Maximum number of meters of each kind. */
  readonly metersMax?: number;
}

const defaultMetersMax = 100_000;

export function createInMemoryRateLimiter({
  share,
  metersMax = defaultMetersMax,
}: MemoryOptions): InMemoryRateLimiter {
  const meters = new Meters({ shares: share, metersMax });
  return {
    get size() {
      return meters.size;
    },
    take: (debits, nowMs) => meters.take(debits, nowMs),
    giveBack: (debits, nowMs, amounts) => meters.giveBack(returnedDebits(debits, amounts), nowMs),
    async close() {},
  };
}
