/** The ledger states of all orgs in memory, with indexes of their open holds by idempotency key and by expiry. */
import { releaseReservation } from '../../kernel/admission.ts';
import { FairShare } from '../../platform/fair-share.ts';
import { isAhead } from '../holds/elapsed-lifetimes.ts';
import type { Hold } from '../holds/hold.ts';
import { OrgExpiries } from '../holds/org-expiries.ts';
import { completeFrom, type OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { orgKeyId } from '../holds/take-hold.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import type { LoggedHold } from './hold-log.ts';
import { byOrg } from './holds-by-org.ts';

export interface LedgerStatesOptions {
  readonly orgLimits: OrgLimitsCache;
  /** Open holds of the previous process. */
  readonly restored: readonly LoggedHold[];
  /** Time of the latest posting that a wrong clock dated in the future; 0 if there is none. */
  readonly latestPostingMs: number;
  /** Maximum number of open holds of all orgs. */
  readonly holdsMax: number;
  now(): number;
}

export class LedgerStates {
  readonly expiries = new OrgExpiries();
  /** Counts the open holds of each org. Their number is bounded, because they are in memory. */
  readonly openHolds: FairShare;
  readonly #options: LedgerStatesOptions;
  readonly #states = new Map<string, OrgLedgerState>();
  /** Restored holds of orgs whose state is not loaded yet. */
  readonly #restored: Map<string, OpenHold[]>;
  readonly #keys = new Map<string, OpenHold>();
  readonly #startedMs: number;

  constructor(options: LedgerStatesOptions) {
    this.#options = options;
    this.openHolds = new FairShare({ capacity: options.holdsMax });
    this.#startedMs = completeFrom(Math.max(options.now(), options.latestPostingMs));
    const restored = options.restored.map(
      ({ hold, location }): OpenHold => ({
        hold,
        ending: false,
        logLocation: location,
        isForgotten: false,
        dueSecond: Number.NaN,
      }),
    );
    this.#restored = byOrg(restored);
    for (const open of restored) {
      this.track(open);
    }
  }

  all(): Iterable<OrgLedgerState> {
    return this.#states.values();
  }

  get(orgId: string): OrgLedgerState | undefined {
    return this.#states.get(orgId);
  }

  /** Returns the state of an org with its current limits; undefined if they must be loaded. */
  peek(orgId: string): OrgLedgerState | undefined {
    const limits = this.#options.orgLimits.peek(orgId);
    const orgState = this.#states.get(orgId);
    if (limits === undefined || orgState === undefined) {
      return undefined;
    }
    if (orgState.limits !== limits) {
      orgState.changeLimits(limits, this.#options.now());
    }
    return orgState;
  }

  async open(orgId: string): Promise<OrgLedgerState> {
    const limits = await this.#options.orgLimits.get(orgId);
    const existing = this.#states.get(orgId);
    if (existing !== undefined) {
      existing.changeLimits(limits, this.#options.now());
      return existing;
    }
    const orgState = new OrgLedgerState(limits, this.#startedMs);
    for (const open of this.#restored.get(orgId) ?? []) {
      orgState.holds.set(open.hold.id, open);
    }
    this.#restored.delete(orgId);
    this.#states.set(orgId, orgState);
    return orgState;
  }

  /** Returns all open holds, also those of orgs whose state is not loaded yet. */
  allHolds(): Hold[] {
    const holds: Hold[] = [];
    for (const { hold } of this.#allOpen()) {
      holds.push(hold);
    }
    return holds;
  }

  /** Returns the open holds that were admitted ahead of the clock. */
  openHoldsAhead(clockMs: number): OpenHold[] {
    const ahead: OpenHold[] = [];
    for (const open of this.#allOpen()) {
      if (isAhead(open.hold, clockMs)) {
        ahead.push(open);
      }
    }
    return ahead;
  }

  *#allOpen(): Generator<OpenHold> {
    for (const { holds } of this.#states.values()) {
      yield* holds.values();
    }
    for (const ofOrg of this.#restored.values()) {
      yield* ofOrg;
    }
  }

  isOpen(open: OpenHold): boolean {
    return this.#states.get(open.hold.orgId)?.holds.get(open.hold.id) === open;
  }

  findByKey(key: string): Hold | undefined {
    return this.#keys.get(key)?.hold;
  }

  /** Counts a hold as open and adds it to the indexes. */
  track(open: OpenHold): void {
    const { hold } = open;
    this.openHolds.take(hold.orgId);
    this.expiries.add(open);
    if (hold.idempotency !== null) {
      this.#keys.set(orgKeyId(hold.orgId, hold.idempotency.digest), open);
    }
  }

  replaceHold(open: OpenHold, hold: Hold): void {
    open.hold = hold;
    this.expiries.move(open);
  }

  /** Removes a hold whose end is in the database, or that was never acknowledged, and releases its reservation. */
  release(open: OpenHold): void {
    const orgState = this.#states.get(open.hold.orgId);
    if (orgState !== undefined && this.isOpen(open)) {
      releaseReservation(orgState.counters, open.hold);
    }
    this.remove(open);
  }

  /** Removes a hold without releasing its reservation, which is already accounted for. */
  remove(open: OpenHold): void {
    const { hold } = open;
    if (this.isOpen(open)) {
      this.#states.get(hold.orgId)?.holds.delete(hold.id);
      this.openHolds.release(hold.orgId);
      this.expiries.remove(open);
    }
    if (hold.idempotency !== null) {
      this.#keys.delete(orgKeyId(hold.orgId, hold.idempotency.digest));
    }
  }
}
