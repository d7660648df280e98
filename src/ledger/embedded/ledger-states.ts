/**
 * The books of all orgs as the embedded engine has them in memory, with what finds their open holds: by key, and by when
 * they expire.
 */
import { releaseReservation } from '../../kernel/admission.ts';
import { Expiries } from '../holds/expiries.ts';
import type { Hold } from '../holds/hold.ts';
import { completeFrom, type OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { keyName } from '../holds/take-hold.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import type { LoggedHold } from './hold-log.ts';

export interface LedgerStatesOptions {
  readonly orgLimits: OrgLimitsCache;
  /** Holds of the process before this one. */
  readonly restored: readonly LoggedHold[];
  now(): number;
}

export class LedgerStates {
  readonly expiries = new Expiries();
  readonly #options: LedgerStatesOptions;
  readonly #states = new Map<string, OrgLedgerState>();
  /** Holds of orgs whose book is not open yet. */
  readonly #restored = new Map<string, OpenHold[]>();
  readonly #keys = new Map<string, OpenHold>();
  readonly #startedMs: number;
  #openHolds = 0;

  constructor(options: LedgerStatesOptions) {
    this.#options = options;
    this.#startedMs = completeFrom(options.now());
    for (const { hold, place } of options.restored) {
      const open: OpenHold = { hold, ending: false, place, dueSecond: Number.NaN };
      const others = this.#restored.get(hold.orgId);
      if (others === undefined) {
        this.#restored.set(hold.orgId, [open]);
      } else {
        others.push(open);
      }
      this.remember(open);
    }
  }

  get openHolds(): number {
    return this.#openHolds;
  }

  all(): Iterable<OrgLedgerState> {
    return this.#states.values();
  }

  get(orgId: string): OrgLedgerState | undefined {
    return this.#states.get(orgId);
  }

  /** The book of an org with its limits as they are now; undefined when those have to be read. */
  fresh(orgId: string): OrgLedgerState | undefined {
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
    const there = this.#states.get(orgId);
    if (there !== undefined) {
      there.changeLimits(limits, this.#options.now());
      return there;
    }
    const orgState = new OrgLedgerState(limits, this.#startedMs);
    for (const open of this.#restored.get(orgId) ?? []) {
      orgState.holds.set(open.hold.id, open);
    }
    this.#restored.delete(orgId);
    this.#states.set(orgId, orgState);
    return orgState;
  }

  isOpen(open: OpenHold): boolean {
    return this.#states.get(open.hold.orgId)?.holds.get(open.hold.id) === open;
  }

  heldUnder(key: string): Hold | undefined {
    return this.#keys.get(key)?.hold;
  }

  /** It is in its book already. */
  remember(open: OpenHold): void {
    const { hold } = open;
    this.#openHolds += 1;
    this.expiries.add(open);
    if (hold.idempotency !== null) {
      this.#keys.set(keyName(hold.orgId, hold.idempotency.digest), open);
    }
  }

  prolong(open: OpenHold, hold: Hold): void {
    open.hold = hold;
    this.expiries.move(open);
  }

  /** Gives back what a hold takes. Its end is in the database, or it was never told. */
  release(open: OpenHold): void {
    const orgState = this.#states.get(open.hold.orgId);
    if (orgState !== undefined && this.isOpen(open)) {
      releaseReservation(orgState.counters, open.hold);
    }
    this.drop(open);
  }

  /** What it took is counted otherwise by now. */
  drop(open: OpenHold): void {
    const { hold } = open;
    if (this.isOpen(open)) {
      this.#states.get(hold.orgId)?.holds.delete(hold.id);
      this.#openHolds -= 1;
      this.expiries.remove(open);
    }
    if (hold.idempotency !== null) {
      this.#keys.delete(keyName(hold.orgId, hold.idempotency.digest));
    }
  }
}
