/**
 * The holds of all paced calls in progress. One timer increases them, so that the increases of an org share a transaction of the
 * ledger. The lead grows by the time that steps are late, because a provider continues while this process does not.
 */
import { type PacedOutput, tokensWithin } from '../kernel/pace.ts';
import { PacedHold, type PacedHoldOptions } from './paced-hold.ts';

export interface PacedHoldsOptions {
  /** Time by which holds are ahead of their calls. */
  readonly leadMs: number;
  /** Time for which a provider may continue a call after this process was killed. */
  readonly goOnMs: number;
  /** True if calls continue while the ledger does not answer, and are then charged beyond their hold. */
  readonly isFailOpen?: boolean;
  /** Returns the monotonic time. */
  nowMs(): number;
}

/** Number of steps in the time of the lead. */
const stepsPerLead = 8;
/** Time in which half of the greatest lateness is forgotten. */
const latenessHalvedMs = 8_000;
const latenessMaxMs = 30_000;

export class PacedHolds {
  readonly #options: PacedHoldsOptions;
  readonly #running = new Set<PacedHold>();
  readonly #stepMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;
  #dueMs = 0;
  /** The greatest lateness, and the time at which it was measured. */
  #lateMs = 0;
  #lateAtMs = 0;

  constructor(options: PacedHoldsOptions) {
    this.#options = options;
    this.#stepMs = Math.max(1, Math.floor(options.leadMs / stepsPerLead));
  }

  /** Time by which a hold must be ahead now. */
  get leadMs(): number {
    return this.#options.leadMs + this.#latenessMs;
  }

  /** Returns the output to hold before a call is sent. */
  firstTokens(output: PacedOutput): number {
    return tokensWithin(output, this.leadMs);
  }

  /**
   * Returns the most that a provider generates beyond the hold of a call after this process was killed, at any time of the call. The
   * lead is not subtracted, because the process may have been late before it was killed.
   */
  unwatchedTokens(output: PacedOutput): number {
    return tokensWithin(output, this.#options.goOnMs);
  }

  add(call: Omit<PacedHoldOptions, 'nowMs' | 'leadMs' | 'isFailOpen'>): PacedHold {
    const hold = new PacedHold({
      ...call,
      isFailOpen: this.#options.isFailOpen === true,
      nowMs: this.#options.nowMs,
      leadMs: () => this.leadMs,
      increase: (tokens) => this.#timed(call.increase(tokens)),
    });
    this.#running.add(hold);
    if (this.#timer === undefined) {
      this.#dueMs = this.#options.nowMs() + this.#stepMs;
      this.#timer = setInterval(() => this.step(), this.#stepMs);
      // Only the timers of Node keep a process alive.
      (this.#timer as { unref?(): void }).unref?.();
    }
    return hold;
  }

  remove(hold: PacedHold): void {
    hold.end();
    this.#running.delete(hold);
    if (this.#running.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  /** Increases all holds that need it, in the same turn of the event loop. */
  step(): void {
    const nowMs = this.#options.nowMs();
    this.#noteLateness(nowMs - this.#dueMs);
    this.#dueMs = nowMs + this.#stepMs;
    for (const hold of this.#running) {
      hold.step();
    }
  }

  async #timed(increase: Promise<boolean>): Promise<boolean> {
    const startedMs = this.#options.nowMs();
    const isIncreased = await increase;
    this.#noteLateness(this.#options.nowMs() - startedMs - this.#stepMs);
    return isIncreased;
  }

  get #latenessMs(): number {
    return this.#lateMs * 2 ** (-(this.#options.nowMs() - this.#lateAtMs) / latenessHalvedMs);
  }

  #noteLateness(ms: number): void {
    if (ms > this.#latenessMs) {
      this.#lateMs = Math.min(latenessMaxMs, ms);
      this.#lateAtMs = this.#options.nowMs();
    }
  }
}
