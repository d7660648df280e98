/**
 * Tracks holds that were admitted ahead of the clock: while the clock was wrong, or later, because the time of the ledger never
 * runs backwards. The clock says nothing about the age of such a hold. So its lifetime is measured from the moment when this
 * process first saw it.
 */
import { performance } from 'node:perf_hooks';

/**
 * Processes on one database have clocks that differ by less. A larger difference means that a clock was wrong, for example before a
 * failover.
 */
export const aheadMsMax = 1_000;

export interface HoldTimes {
  readonly orgId: string;
  readonly id: string;
  readonly admittedAtMs: number;
  readonly expiresAtMs: number;
}

export function isAhead({ admittedAtMs }: Pick<HoldTimes, 'admittedAtMs'>, clockMs: number): boolean {
  return admittedAtMs > clockMs + aheadMsMax;
}

export class ElapsedLifetimes {
  readonly #monotonicMs: () => number;
  /** When each hold was first seen, by its id. */
  #seenAtMs = new Map<string, number>();

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Takes all holds that are ahead of the clock and returns those whose lifetime has elapsed, up to a maximum per org. A returned
   * hold that could not be ended is returned again after another lifetime, so that it does not keep others open. Holds that are
   * missing in `ahead` are forgotten.
   */
  takeElapsed<One extends HoldTimes>(ahead: readonly One[], perOrg: number): One[] {
    const nowMs = this.#monotonicMs();
    const before = this.#seenAtMs;
    this.#seenAtMs = new Map(ahead.map(({ id }) => [id, before.get(id) ?? nowMs]));
    const taken = new Map<string, number>();
    return ahead.filter(({ orgId, id, admittedAtMs, expiresAtMs }) => {
      const seenAtMs = this.#seenAtMs.get(id) ?? nowMs;
      const ofOrg = taken.get(orgId) ?? 0;
      if (nowMs - seenAtMs < expiresAtMs - admittedAtMs || ofOrg === perOrg) {
        return false;
      }
      taken.set(orgId, ofOrg + 1);
      this.#seenAtMs.set(id, nowMs);
      return true;
    });
  }
}
