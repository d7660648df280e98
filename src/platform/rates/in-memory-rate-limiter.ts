/**
 * Counts rates in this process. Verdicts are returned as values, never as promises, for the hot path. If several processes
 * share the limits, each allows its share.
 */
import {
  type Bucket,
  type Rate,
  type RateMeter,
  type Rolling,
  rollingWindow,
  type TakeResult,
  tokenBucket,
} from '../../kernel/rate.ts';
import {
  type AvailableAmount,
  allowed,
  type RateDebit,
  type RateLimiter,
  type RateVerdict,
  returnedDebits,
} from './rate-limiter.ts';

export interface InMemoryRateLimiter extends RateLimiter {
  take(debits: readonly RateDebit[], nowMs: number): RateVerdict;
  /** Number of meters in memory. */
  readonly size: number;
}

export interface MemoryOptions {
  /** Number of live processes among which the limits are divided. */
  share(): number;
  /** Maximum number of meters of each kind. */
  readonly metersMax?: number;
}

const defaultMetersMax = 100_000;

export function createInMemoryRateLimiter({ share, metersMax }: MemoryOptions): InMemoryRateLimiter {
  const buckets = new MeterTable<Bucket>(tokenBucket, metersMax ?? defaultMetersMax);
  const windows = new MeterTable<Rolling>(rollingWindow, metersMax ?? defaultMetersMax);
  const tableOf = ({ rolling }: RateDebit) => (rolling === true ? windows : buckets);
  const rateOf = ({ limit, windowSeconds, burst }: RateDebit, shares: number): Rate => ({
    limit,
    windowSeconds,
    burst,
    shares,
  });

  return {
    get size() {
      return buckets.size + windows.size;
    },
    take(debits, nowMs) {
      const shares = share();
      const undo: (() => void)[] = [];
      const remaining: bigint[] = [];
      let denied: { index: number; retryAfterSeconds: number; available: AvailableAmount[] } | undefined;
      for (const [index, take] of debits.entries()) {
        const table = tableOf(take);
        const restore = debits.length > 1 ? table.snapshot(take.key) : undefined;
        const taking = table.take(take, rateOf(take, shares), nowMs);
        if (!taking.allowed) {
          denied = {
            index: denied?.index ?? index,
            retryAfterSeconds: Math.max(denied?.retryAfterSeconds ?? 1, taking.retryAfterSeconds),
            available: [...(denied?.available ?? []), { index, amount: taking.available }],
          };
        } else {
          if (restore !== undefined) {
            undo.push(restore);
          }
          if (take.reports === true) {
            remaining.push(table.remaining(take, rateOf(take, shares)));
          }
        }
      }
      if (denied === undefined) {
        return remaining.length === 0 ? allowed : { allowed: true, remaining };
      }
      // In reverse order, in case two debits belong to one meter.
      for (const restore of undo.reverse()) {
        restore();
      }
      return { allowed: false, ...denied };
    },
    giveBack(debits, nowMs, amounts) {
      const shares = share();
      for (const take of returnedDebits(debits, amounts)) {
        tableOf(take).giveBack(take, rateOf(take, shares), nowMs);
      }
    },
    async close() {},
  };
}

interface StoredMeter<State> {
  readonly state: State;
  /** The rate of the last debit: determines when the meter can be dropped. */
  readonly rate: Rate;
}

/** Number of meters that are considered for eviction for each new meter. */
const candidatesPerNewMeter = 8;

/** Meters of one kind. Meters that have fully recovered are dropped, a few for each new meter. */
class MeterTable<State> {
  readonly #meter: RateMeter<State>;
  readonly #metersMax: number;
  /** In the order in which they were inserted or last considered for eviction. */
  readonly #meters = new Map<string, StoredMeter<State>>();

  constructor(meter: RateMeter<State>, metersMax: number) {
    this.#meter = meter;
    this.#metersMax = metersMax;
  }

  get size(): number {
    return this.#meters.size;
  }

  take({ key, amount }: RateDebit, rate: Rate, nowMs: number): TakeResult<State> {
    const stored = this.#meters.get(key);
    const taking = this.#meter.take(rate, stored?.state, amount, nowMs);
    if (taking.allowed) {
      if (stored === undefined) {
        this.#makeRoom(nowMs);
      }
      this.#meters.set(key, { state: taking.state, rate });
    }
    return taking;
  }

  /** Returns what is left after a take that was allowed. */
  remaining({ key }: RateDebit, rate: Rate): bigint {
    const stored = this.#meters.get(key);
    return stored === undefined ? 0n : this.#meter.remaining(rate, stored.state);
  }

  giveBack({ key, amount }: RateDebit, rate: Rate, nowMs: number): void {
    const stored = this.#meters.get(key);
    if (stored !== undefined) {
      this.#meters.set(key, { state: this.#meter.giveBack(rate, stored.state, amount, nowMs), rate });
    }
  }

  /** Returns a function that restores the current state of the meter. */
  snapshot(key: string): () => void {
    const stored = this.#meters.get(key);
    return () => {
      if (stored === undefined) {
        this.#meters.delete(key);
      } else {
        this.#meters.set(key, stored);
      }
    };
  }

  /** If the table is full and no candidate has recovered, drops the one that recovers soonest: it gives away the least. */
  #makeRoom(nowMs: number): void {
    let soonest: { key: string; untouchedAtMs: number } | undefined;
    let candidates = 0;
    for (const [key, stored] of this.#meters) {
      if (candidates === candidatesPerNewMeter) {
        break;
      }
      candidates += 1;
      const untouchedAtMs = this.#meter.untouchedAtMs(stored.rate, stored.state);
      this.#meters.delete(key);
      if (untouchedAtMs > nowMs) {
        // Moved to the end, so that other meters are considered next time.
        this.#meters.set(key, stored);
        if (soonest === undefined || untouchedAtMs < soonest.untouchedAtMs) {
          soonest = { key, untouchedAtMs };
        }
      }
    }
    if (this.#meters.size >= this.#metersMax && soonest !== undefined) {
      this.#meters.delete(soonest.key);
    }
  }
}
