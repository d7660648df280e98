/**
 * Holds that were admitted ahead of the clock: while it was wrong, or since then, because the time of the ledger never runs backwards.
 * The clock says nothing about the age of such a hold, so its lifetime is measured from the moment when it was first seen here.
 */
import { performance } from 'node:perf_hooks';

/** The clocks of processes on one database differ by less. More is a clock that was wrong, for example before a failover. */
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
  /** By the id of the hold. */
  #seenAtMs = new Map<string, number>();

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Takes all holds that are ahead of the clock and returns those whose lifetime has elapsed, a bounded number of each org. A hold that
   * is returned and cannot be ended is returned again after another lifetime, so that it does not keep others open. Holds that are no
   * longer given are forgotten.
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
