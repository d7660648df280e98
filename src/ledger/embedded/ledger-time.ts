import type { Clock } from '../../platform/time/clock.ts';

/** The time of the ledger. It never runs backwards, so it may be ahead of the clock. */
export class LedgerTime {
  readonly #clock: Clock;
  #nowMs: number;

  /** `floorMs` is the last persisted time. The ledger never goes back before it. */
  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#nowMs = floorMs;
  }

  now(): number {
    this.#nowMs = Math.max(this.#nowMs, this.clockMs());
    return this.#nowMs;
  }

  clockMs(): number {
    return this.#clock.now().getTime();
  }
}
