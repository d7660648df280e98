/**
 * Rates counted in this process. Its answers are values, never promises: the hot path does not wait. Where several
 * processes share the limits, each lets its part pass.
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
import { allowed, type RateLimiter, type RateTake, type RateVerdict } from './rate-limiter.ts';

export interface MemoryRateLimiter extends RateLimiter {
  take(debits: readonly RateTake[], nowMs: number): RateVerdict;
  /** How many meters are remembered. */
  readonly size: number;
}

export interface MemoryOptions {
  /** Among how many live processes the limits are divided. */
  share(): number;
  /** Of each sort. */
  readonly metersMax?: number;
}

const defaultMetersMax = 100_000;

export function createMemoryRateLimiter({ share, metersMax }: MemoryOptions): MemoryRateLimiter {
  const buckets = new Shelf<Bucket>(tokenBucket, metersMax ?? defaultMetersMax);
  const windows = new Shelf<Rolling>(rollingWindow, metersMax ?? defaultMetersMax);
  const shelfOf = ({ rolling }: RateTake) => (rolling === true ? windows : buckets);
  const rateOf = ({ limit, windowSeconds, burst }: RateTake, shares: number): Rate => ({
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
      let refused: { index: number; retryAfterSeconds: number } | undefined;
      for (const [index, take] of debits.entries()) {
        const shelf = shelfOf(take);
        const back = debits.length > 1 ? shelf.remember(take.key) : undefined;
        const taking = shelf.take(take, rateOf(take, shares), nowMs);
        if (!taking.allowed) {
          refused = {
            index: refused?.index ?? index,
            retryAfterSeconds: Math.max(refused?.retryAfterSeconds ?? 1, taking.retryAfterSeconds),
          };
        } else if (back !== undefined) {
          undo.push(back);
        }
      }
      if (refused === undefined) {
        return allowed;
      }
      // The last first, in case that two takes are from one meter.
      for (const back of undo.reverse()) {
        back();
      }
      return { allowed: false, ...refused };
    },
    giveBack(debits, nowMs) {
      const shares = share();
      for (const take of debits) {
        shelfOf(take).giveBack(take, rateOf(take, shares), nowMs);
      }
    },
    async close() {},
  };
}

interface Kept<State> {
  readonly state: State;
  /** As of the last take: tells when the meter can be forgotten. */
  readonly rate: Rate;
}

/** How many of the longest unmoved meters are looked at when there has to be room for a new one. */
const looksPerNewMeter = 8;

/** Meters of one sort. Those that are as if untouched can be forgotten, and are, a few with each new one. */
class Shelf<State> {
  readonly #meter: RateMeter<State>;
  readonly #metersMax: number;
  /** In the order in which they were put here or last looked at. */
  readonly #kept = new Map<string, Kept<State>>();

  constructor(meter: RateMeter<State>, metersMax: number) {
    this.#meter = meter;
    this.#metersMax = metersMax;
  }

  get size(): number {
    return this.#kept.size;
  }

  take({ key, amount }: RateTake, rate: Rate, nowMs: number): TakeResult<State> {
    const kept = this.#kept.get(key);
    const taking = this.#meter.take(rate, kept?.state, amount, nowMs);
    if (taking.allowed) {
      if (kept === undefined) {
        this.#makeRoom(nowMs);
      }
      this.#kept.set(key, { state: taking.state, rate });
    }
    return taking;
  }

  giveBack({ key, amount }: RateTake, rate: Rate, nowMs: number): void {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.set(key, { state: this.#meter.giveBack(rate, kept.state, amount, nowMs), rate });
    }
  }

  /** Returns how to go back to what is now. */
  remember(key: string): () => void {
    const kept = this.#kept.get(key);
    return () => {
      if (kept === undefined) {
        this.#kept.delete(key);
      } else {
        this.#kept.set(key, kept);
      }
    };
  }

  /** If none can be forgotten without loss and there is no room left, the one that gives away the least. */
  #makeRoom(nowMs: number): void {
    let soonest: { key: string; untouchedAtMs: number } | undefined;
    let looks = 0;
    for (const [key, kept] of this.#kept) {
      if (looks === looksPerNewMeter) {
        break;
      }
      looks += 1;
      const untouchedAtMs = this.#meter.untouchedAtMs(kept.rate, kept.state);
      this.#kept.delete(key);
      if (untouchedAtMs > nowMs) {
        // To the end, so that the next look is at others.
        this.#kept.set(key, kept);
        if (soonest === undefined || untouchedAtMs < soonest.untouchedAtMs) {
          soonest = { key, untouchedAtMs };
        }
      }
    }
    if (this.#kept.size >= this.#metersMax && soonest !== undefined) {
      this.#kept.delete(soonest.key);
    }
  }
}
