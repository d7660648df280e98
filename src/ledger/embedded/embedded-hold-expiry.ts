/** Expires holds on the embedded engine, in small batches with a rest after each. */
import { performance } from 'node:perf_hooks';
import { aheadMsMax, ElapsedLifetimes } from '../holds/elapsed-lifetimes.ts';
import { isPostedAtExpiry } from '../holds/hold.ts';
import type { OpenHold } from '../holds/org-ledger-state.ts';
import type { LedgerExpiry } from '../ledger.ts';
import { eachIfAllFail } from '../postings/each-if-all-fail.ts';
import { canEnd, endHolds } from './embedded-hold-ends.ts';
import type { EmbeddedPostings } from './embedded-postings.ts';
import type { EmbeddedState } from './embedded-state.ts';
import { byOrg } from './holds-by-org.ts';

type Postings = Pick<EmbeddedPostings<unknown>, 'expire'>;

/** The batch is small, because postings wait for its transaction, and its work in memory blocks the event loop. */
const expiriesPerTransaction = { total: 200, perOrg: 100 };
/** Rest after a transaction that left overdue holds, as a multiple of the transaction's duration. */
const restRatio = 3;
/** Bounds the rest, so that a backlog shrinks under any load. */
const restMsMax = 250;

type IsDue = (open: OpenHold) => boolean;

export class EmbeddedHoldExpiry implements LedgerExpiry {
  readonly #state: EmbeddedState;
  readonly #postings: Postings;
  readonly #lifetimes: ElapsedLifetimes;
  #tookMs = 0;

  /** `monotonicMs` measures the lifetimes of holds that were admitted ahead of the clock. */
  constructor(state: EmbeddedState, postings: Postings, monotonicMs?: () => number) {
    this.#state = state;
    this.#postings = postings;
    this.#lifetimes = new ElapsedLifetimes(monotonicMs);
  }

  async expireDue(): Promise<boolean> {
    const startedMs = performance.now();
    try {
      return await this.#expireBatch();
    } finally {
      this.#tookMs = performance.now() - startedMs;
    }
  }

  restMs(): number {
    return Math.min(restMsMax, this.#tookMs * restRatio);
  }

  /**
   * Expires a batch. Holds that are released share one transaction; holds whose amount is posted share one per org. A failure of
   * one hold or org does not keep the others open. Throws the first error after all were tried.
   */
  async #expireBatch(): Promise<boolean> {
    const clockMs = this.#state.time.clockMs();
    const { holds: due, more } = this.#state.states.expiries.takeDue(clockMs, expiriesPerTransaction);
    const elapsed = this.#elapsed(clockMs);
    // A hold that was extended in the meantime has another expiry.
    const isDue = (open: OpenHold) =>
      open.hold.expiresAtMs <= clockMs || elapsed.get(open) === open.hold.expiresAtMs;
    const released: OpenHold[] = [];
    const failures: unknown[] = [];
    const collectFailure = (error: unknown) => void failures.push(error);
    for (const [orgId, holds] of byOrg([...due, ...elapsed.keys()])) {
      await this.#expireOrg(orgId, holds, isDue, released).catch(collectFailure);
    }
    if (released.length > 0) {
      await eachIfAllFail(released, (some) => endHolds(this.#state, some, 'expired', isDue)).catch(
        collectFailure,
      );
    }
    this.#scheduleAgain(due, clockMs);
    if (failures.length > 0) {
      throw failures[0];
    }
    return more;
  }

  /** Returns the holds that were admitted ahead of the clock and whose lifetime has elapsed, with their expiries. */
  #elapsed(clockMs: number): ReadonlyMap<OpenHold, number> {
    const ahead =
      this.#state.time.now() > clockMs + aheadMsMax ? this.#state.states.openHoldsAhead(clockMs) : [];
    const times = ahead.map((open) => {
      const { orgId, id, admittedAtMs, expiresAtMs } = open.hold;
      return { orgId, id, admittedAtMs, expiresAtMs, open };
    });
    return new Map(
      this.#lifetimes
        .takeElapsed(times, expiriesPerTransaction.perOrg)
        .map(({ open, expiresAtMs }) => [open, expiresAtMs]),
    );
  }

  /** Posts the overdue holds of an org that are posted at expiry (`isPostedAtExpiry`). Adds the others to `released`. */
  async #expireOrg(
    orgId: string,
    holds: readonly OpenHold[],
    isDue: IsDue,
    released: OpenHold[],
  ): Promise<void> {
    const { states } = this.#state;
    const { limits } = await states.open(orgId);
    const posted: OpenHold[] = [];
    for (const open of holds.filter((one) => canEnd(states, one) && isDue(one))) {
      (isPostedAtExpiry(open.hold, limits.onUnsettled) ? posted : released).push(open);
    }
    if (posted.length > 0) {
      await eachIfAllFail(posted, (some) =>
        this.#postings.expire(orgId, () =>
          some.filter((open) => canEnd(states, open) && isDue(open)).map(({ hold }) => hold),
        ),
      );
    }
  }

  /** Schedules the holds of a batch that have not ended: extended ones at their new expiry, the others in the next second. */
  #scheduleAgain(due: readonly OpenHold[], nowMs: number): void {
    const { states } = this.#state;
    for (const open of due) {
      // If the state of the org is not loaded, its holds were not tried.
      if (states.isOpen(open) || states.get(open.hold.orgId) === undefined) {
        if (open.hold.expiresAtMs > nowMs) {
          states.expiries.move(open);
        } else {
          states.expiries.putBack([open], nowMs);
        }
      }
    }
  }
}
