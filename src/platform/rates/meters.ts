/** Meters of rates in memory. They take all debits of a request or none, with the rules of `kernel/rate.ts`. */
import {
  type Bucket,
  type Rate,
  type RateMeter,
  type Rolling,
  rollingWindow,
  type TakeResult,
  tokenBucket,
} from '../../kernel/rate.ts';
import { type AvailableAmount, allowed, type RateDebit, type RateVerdict } from './rate-limiter.ts';

export interface MetersOptions {
  /** Returns the number of processes among which the limits are divided. */
  shares(): number;
  /** Maximum number of meters of each kind. */
  readonly metersMax: number;
}

export type MeterState = Bucket | Rolling;

export class Meters {
  readonly #shares: () => number;
  readonly #buckets: MeterTable<Bucket>;
  readonly #windows: MeterTable<Rolling>;

  constructor({ shares, metersMax }: MetersOptions) {
    this.#shares = shares;
    this.#buckets = new MeterTable(tokenBucket, metersMax);
    this.#windows = new MeterTable(rollingWindow, metersMax);
  }

  get size(): number {
    return this.#buckets.size + this.#windows.size;
  }

  take(debits: readonly RateDebit[], nowMs: number): RateVerdict {
    const shares = this.#shares();
    const undo: (() => void)[] = [];
    const remaining: bigint[] = [];
    let denied: { index: number; retryAfterSeconds: number; available: AvailableAmount[] } | undefined;
    for (const [index, debit] of debits.entries()) {
      const table = this.#tableOf(debit);
      const rate = rateOf(debit, shares);
      table.moveBack(debit, nowMs);
      const restore = debits.length > 1 ? table.snapshot(debit.key) : undefined;
      const taking = table.take(debit, rate, nowMs);
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
        if (debit.reports === true) {
          remaining.push(table.remaining(debit, rate));
        }
      }
    }
    if (denied === undefined) {
      return remaining.length === 0 ? allowed : { allowed: true, remaining };
    }
    // Restored in reverse order, because two debits may share a meter.
    for (const restore of undo.reverse()) {
      restore();
    }
    return { allowed: false, ...denied };
  }

  giveBack(debits: readonly RateDebit[], nowMs: number): void {
    const shares = this.#shares();
    for (const debit of debits) {
      this.#tableOf(debit).giveBack(debit, rateOf(debit, shares), nowMs);
    }
  }

  /** Sets the state of a debit's meter to a stored one. */
  restore(debit: RateDebit, state: MeterState): void {
    this.#tableOf(debit).restore(debit.key, { state, rate: rateOf(debit, this.#shares()) });
  }

  /** Returns the state of a debit's meter, and the time from which the meter counts as untouched. */
  read(debit: RateDebit): { readonly state: MeterState; readonly untouchedAtMs: number } | undefined {
    return this.#tableOf(debit).read(debit.key);
  }

  /** Returns the table for the kind of a debit. The cast is safe, because the kind of a debit never changes. */
  #tableOf({ rolling }: RateDebit): MeterTable<MeterState> {
    return (rolling === true ? this.#windows : this.#buckets) as unknown as MeterTable<MeterState>;
  }
}

function rateOf({ limit, windowSeconds, burst }: RateDebit, shares: number): Rate {
  return { limit, windowSeconds, burst, shares };
}

interface StoredMeter<State> {
  readonly state: State;
  /** The rate of the last debit. It determines when the meter can be dropped. */
  readonly rate: Rate;
}

/** Number of meters that are considered for eviction for each new meter. */
const candidatesPerNewMeter = 8;

/** Meters of one kind. For each new meter, a few others are checked and dropped if they have fully recovered. */
class MeterTable<State> {
  readonly #meter: RateMeter<State>;
  readonly #metersMax: number;
  /** Meters in the order in which they were inserted or last considered for eviction. */
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

  /** Returns the remaining amount after an allowed take. */
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

  /** Replaces a state that a wrong clock has dated in the future; see `notAhead` of the meter. */
  moveBack({ key }: RateDebit, nowMs: number): void {
    const stored = this.#meters.get(key);
    if (stored !== undefined) {
      const state = this.#meter.notAhead(stored.state, nowMs);
      if (state !== stored.state) {
        this.#meters.set(key, { ...stored, state });
      }
    }
  }

  restore(key: string, stored: StoredMeter<State>): void {
    this.#meters.set(key, stored);
  }

  read(key: string): { readonly state: State; readonly untouchedAtMs: number } | undefined {
    const stored = this.#meters.get(key);
    return (
      stored && {
        state: stored.state,
        untouchedAtMs: this.#meter.untouchedAtMs(stored.rate, stored.state),
      }
    );
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

  /**
   * Makes room for a new meter. If the table is full and no candidate has recovered, drops the candidate that recovers soonest,
   * because it forgets the least.
   */
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
        // Moved to the end, so that the next call considers other meters.
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
