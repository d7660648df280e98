/** Voiding, extending and expiring holds on the embedded engine. */
import { performance } from 'node:perf_hooks';
import { type Database, DatabaseUnavailable } from '../../platform/db/database.ts';
import { aheadMsMax, ElapsedLifetimes, type HoldTimes } from '../holds/elapsed-lifetimes.ts';
import { type Hold, isPostedAtExpiry } from '../holds/hold.ts';
import type { HoldChange } from '../holds/hold-request.ts';
import type { OpenHold } from '../holds/org-ledger-state.ts';
import { extendedTo } from '../holds/take-hold.ts';
import { eachIfAllFail } from '../postings/each-if-all-fail.ts';
import { endedOrUnknown, findEnds, type HoldEnd, insertEnds } from '../postings/ledger-writes.ts';
import type { DurableHolds } from './durable-holds.ts';
import type { LedgerStates } from './ledger-states.ts';
import type { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedHoldEndsDependencies {
  readonly db: Database;
  readonly states: LedgerStates;
  readonly durable: DurableHolds;
  readonly unresolvedEnds: UnresolvedHoldEnds;
  /** Time of the ledger, which may be ahead of the clock. */
  now(): number;
  clockMs(): number;
  /** Measures the lifetimes of holds that are ahead of the clock. */
  readonly monotonicMs?: () => number;
  /** Posts the held amounts of expired holds of an org; see `EmbeddedPostings`. */
  postExpired(orgId: string, stillOpen: () => readonly Hold[]): Promise<void>;
}

/** Small, because postings wait for the transaction, and everything waits for what it does in memory. */
const expiriesPerTransaction = { total: 200, perOrg: 100 };
/** Rest after a transaction that left overdue holds, as a multiple of the time that it took. */
const restRatio = 3;
/** Keeps a backlog moving under any load. */
const restMsMax = 250;

type IsDue = (open: OpenHold) => boolean;

export class EmbeddedHoldEnds {
  readonly #deps: EmbeddedHoldEndsDependencies;
  readonly #lifetimes: ElapsedLifetimes;
  #expiryTookMs = 0;

  constructor(deps: EmbeddedHoldEndsDependencies) {
    this.#deps = deps;
    this.#lifetimes = new ElapsedLifetimes(deps.monotonicMs);
  }

  async void(orgId: string, holdId: string): Promise<HoldChange> {
    const orgState = await this.#deps.states.open(orgId);
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(this.#deps.db, orgId, holdId);
    }
    this.#deps.unresolvedEnds.throwIfUnresolved([holdId]);
    const [hold] = await this.#end([open], 'voided', () => true);
    this.#deps.unresolvedEnds.throwIfUnresolved([holdId]);
    return hold === undefined ? { kind: 'ended' } : { kind: 'changed', hold };
  }

  /**
   * Ends the holds that are still open and, for expiry, overdue; returns them. Runs inside a database transaction,
   * during which no settlement is in progress: an earlier settlement has ended its hold, a later one finds the end
   * and is late. The end is written to the database first, then memory changes, then the hold is removed from the
   * log.
   */
  async #end(holds: readonly OpenHold[], endedAs: 'voided' | 'expired', isDue: IsDue): Promise<Hold[]> {
    let ending: OpenHold[] = [];
    try {
      await this.#deps.db.transaction(async (tx) => {
        setEnding(ending, false);
        ending = holds.filter((open) => this.#canEnd(open, isDue));
        setEnding(ending, true);
        await insertEnds(
          tx,
          ending.map(({ hold }): HoldEnd => ({ hold, endedAs, runId: null })),
          this.#deps.now(),
        );
      });
    } catch (error) {
      if (error instanceof DatabaseUnavailable) {
        void this.#resolveLater(ending);
      } else {
        setEnding(ending, false);
      }
      throw error;
    }
    return this.#ended(ending);
  }

  #canEnd(open: OpenHold, isDue: IsDue): boolean {
    return this.#deps.states.isOpen(open) && !open.ending && isDue(open);
  }

  #ended(ending: readonly OpenHold[]): Hold[] {
    const holds = ending.map(({ hold }) => hold);
    for (const open of ending) {
      this.#deps.states.release(open);
    }
    this.#deps.durable.remove(ending);
    return holds;
  }

  /** The response to COMMIT may be lost. The holds stay unchanged until the database shows whether they ended. */
  async #resolveLater(ending: readonly OpenHold[]): Promise<void> {
    const ids = ending.map(({ hold }) => hold.id);
    await this.#deps.unresolvedEnds.resolve(ids, async () => {
      const orgIds = ending.map(({ hold }) => hold.orgId);
      const ends = await findEnds(this.#deps.db, orgIds, ids);
      const ended = new Set(ends.map(({ hold_id }) => hold_id));
      this.#ended(ending.filter(({ hold }) => ended.has(hold.id)));
      setEnding(
        ending.filter(({ hold }) => !ended.has(hold.id)),
        false,
      );
    });
  }

  async extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    const orgState = await this.#deps.states.open(orgId);
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(this.#deps.db, orgId, holdId);
    }
    this.#deps.unresolvedEnds.throwIfUnresolved([holdId]);
    if (open.ending) {
      return { kind: 'ended' };
    }
    const { expiresAtMs } = open.hold;
    const hold: Hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, this.#deps.clockMs(), seconds) };
    this.#deps.states.replaceHold(open, hold);
    try {
      await this.#deps.durable.add([open]);
    } catch (error) {
      this.#deps.states.replaceHold(open, { ...open.hold, expiresAtMs });
      throw error;
    }
    return { kind: 'changed', hold };
  }

  /** Expires one batch of overdue holds in one transaction. Returns true if there may be more. */
  async expireDue(): Promise<boolean> {
    const startedMs = performance.now();
    try {
      return await this.#expireBatch();
    } finally {
      this.#expiryTookMs = performance.now() - startedMs;
    }
  }

  /** Time that belongs to decisions and postings before the next batch. */
  expiryRestMs(): number {
    return Math.min(restMsMax, this.#expiryTookMs * restRatio);
  }

  /**
   * Expires a batch: holds that are released in one transaction, those whose amount is posted in one for each org. A failure of
   * one hold or org does not keep the others open. Throws the first error after all were tried.
   */
  async #expireBatch(): Promise<boolean> {
    const clockMs = this.#deps.clockMs();
    const { holds: due, more } = this.#deps.states.expiries.takeDue(clockMs, expiriesPerTransaction);
    const elapsed = this.#elapsed(clockMs);
    // A hold that was extended meanwhile has another expiry.
    const isDue = (open: OpenHold) =>
      open.hold.expiresAtMs <= clockMs || elapsed.get(open) === open.hold.expiresAtMs;
    const released: OpenHold[] = [];
    const failures: unknown[] = [];
    const collectFailure = (error: unknown) => void failures.push(error);
    for (const [orgId, holds] of byOrg([...due, ...elapsed.keys()])) {
      await this.#expireOrg(orgId, holds, isDue, released).catch(collectFailure);
    }
    if (released.length > 0) {
      await eachIfAllFail(released, (some) => this.#end(some, 'expired', isDue)).catch(collectFailure);
    }
    this.#scheduleAgain(due, clockMs);
    if (failures.length > 0) {
      throw failures[0];
    }
    return more;
  }

  /** Returns holds that are ahead of the clock and whose lifetime has elapsed, with their expiries. */
  #elapsed(clockMs: number): ReadonlyMap<OpenHold, number> {
    const ahead = this.#deps.now() > clockMs + aheadMsMax ? this.#deps.states.openHoldsAhead(clockMs) : [];
    const times = ahead.map((open) => ({ ...timesOf(open), open }));
    return new Map(
      this.#lifetimes
        .takeElapsed(times, expiriesPerTransaction.perOrg)
        .map(({ open, expiresAtMs }) => [open, expiresAtMs]),
    );
  }

  /** Posts the overdue holds of an org whose amount is posted. Adds the others to `released`. */
  async #expireOrg(
    orgId: string,
    holds: readonly OpenHold[],
    isDue: IsDue,
    released: OpenHold[],
  ): Promise<void> {
    const { limits } = await this.#deps.states.open(orgId);
    const posted: OpenHold[] = [];
    for (const open of holds.filter((one) => this.#canEnd(one, isDue))) {
      (isPostedAtExpiry(open.hold, limits.onUnsettled) ? posted : released).push(open);
    }
    if (posted.length > 0) {
      await eachIfAllFail(posted, (some) =>
        this.#deps.postExpired(orgId, () =>
          some.filter((open) => this.#canEnd(open, isDue)).map(({ hold }) => hold),
        ),
      );
    }
  }

  /** Schedules the holds of a batch that have not ended: extended ones at their expiry, the others in the next second. */
  #scheduleAgain(due: readonly OpenHold[], nowMs: number): void {
    const { states } = this.#deps;
    for (const open of due) {
      // Without the state of its org nothing was tried.
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

function timesOf({ hold: { orgId, id, admittedAtMs, expiresAtMs } }: OpenHold): HoldTimes {
  return { orgId, id, admittedAtMs, expiresAtMs };
}

/** Returns the holds by org. */
function byOrg(holds: readonly OpenHold[]): Map<string, OpenHold[]> {
  const groups = new Map<string, OpenHold[]>();
  for (const open of holds) {
    const { orgId } = open.hold;
    groups.set(orgId, [...(groups.get(orgId) ?? []), open]);
  }
  return groups;
}

function setEnding(holds: readonly OpenHold[], ending: boolean): void {
  for (const open of holds) {
    open.ending = ending;
  }
}
