/** The state of one org in a transaction. Commands change this state, then the changes are written. */
import { applicableCounters, type Counter, releaseReservation } from '../../kernel/admission.ts';
import type { OrgLimits } from '../../kernel/limits.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Hold, HoldKey } from '../holds/hold.ts';
import { type AddedHold, addImportedHold, type HoldImport, type ImportedHold } from '../holds/hold-import.ts';
import { replayOf } from '../holds/hold-keys.ts';
import type {
  HoldChange,
  HoldIncrease,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import { increaseHold } from '../holds/increase-hold.ts';
import { OrgLedgerState } from '../holds/org-ledger-state.ts';
import { admitHold, extendedTo, takeHold } from '../holds/take-hold.ts';
import type { CounterAmounts } from './postgres-counters.ts';

export class OrgChanges {
  readonly orgId: string;
  readonly orgState: OrgLedgerState;
  /** Copies of the counters as they were read, to detect changes. */
  readonly countersRead = new Map<string, CounterAmounts>();
  readonly endedHolds = new Set<string>();
  /** Holds that ended before this transaction and that its postings refer to. */
  readonly endedBefore: Hold[] = [];
  readonly #newHolds: Hold[] = [];
  readonly #changedHolds = new Map<string, Hold>();
  /** Used idempotency keys by digest, including those of holds that end in this transaction. */
  readonly #usedKeys = new Map<string, HoldKey>();

  constructor(limits: OrgLimits) {
    this.orgId = limits.orgId;
    this.orgState = new OrgLedgerState(limits, Number.POSITIVE_INFINITY);
  }

  /** Returns the holds to insert. */
  newHolds(): Hold[] {
    return this.#newHolds.filter(({ id }) => !this.endedHolds.has(id));
  }

  /** Returns the holds to update. */
  changedHolds(): Hold[] {
    return [...this.#changedHolds.values()].filter(({ id }) => !this.endedHolds.has(id));
  }

  addNewHolds(holds: readonly Hold[]): void {
    this.#newHolds.push(...holds);
  }

  changeHold(hold: Hold): void {
    this.#changedHolds.set(hold.id, hold);
  }

  /** Adds a counter that was read, with a copy for comparison. */
  useCounter(key: string, counter: Counter): void {
    this.orgState.counters.set(key, counter);
    this.countersRead.set(key, { ...counter });
  }

  useKey(key: HoldKey | null): void {
    if (key !== null) {
      this.#usedKeys.set(key.digest, key);
    }
  }

  hold(ids: Ids, request: HoldRequest, nowMs: number): HoldResult {
    const replay = request.key && replayOf(this.#usedKeys.get(request.key.digest), request.key);
    if (replay !== undefined) {
      return replay;
    }
    const { limits } = this.orgState;
    const applicable = applicableCounters(limits, request.scope, nowMs, request.surface);
    const admitted = admitHold(this.orgState, request, applicable, nowMs);
    if (admitted.kind === 'denied') {
      return admitted;
    }
    const held = takeHold(ids, this.orgState, admitted);
    this.orgState.addHold(held.hold);
    this.#newHolds.push(held.hold);
    this.useKey(held.hold.idempotency);
    return held;
  }

  /** Imports holds. `ended` has the ids of those that have ended already. */
  import({ holds }: HoldImport, ended: ReadonlySet<string>): ImportedHolds {
    const results: ImportedHold[] = [];
    const added: AddedHold[] = [];
    const settledBefore: Hold[] = [];
    for (const imported of holds) {
      // If the key was used before, it belongs to the earlier decision, and this hold is imported without a key.
      const key = imported.idempotency;
      const hold =
        key === null || !this.#usedKeys.has(key.digest) ? imported : { ...imported, idempotency: null };
      if (this.orgState.holds.has(imported.id)) {
        results.push({ kind: 'existing' });
      } else if (ended.has(imported.id)) {
        results.push({ kind: 'existing' });
        settledBefore.push(hold);
        this.useKey(hold.idempotency);
      } else {
        const { scope, admittedAtMs, surface } = hold;
        const applicable = applicableCounters(this.orgState.limits, scope, admittedAtMs, surface);
        const one = addImportedHold(this.orgState, hold, applicable).added;
        this.#newHolds.push(one.hold);
        this.useKey(one.hold.idempotency);
        added.push(one);
        results.push({ kind: 'added', ...one });
      }
    }
    return { results, added, settledBefore };
  }

  /** Returns undefined if the hold is not open. */
  extend(holdId: string, seconds: number, clockMs: number): HoldChange | undefined {
    const open = this.orgState.holds.get(holdId);
    if (open === undefined) {
      return undefined;
    }
    open.hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, clockMs, seconds) };
    this.changeHold(open.hold);
    return { kind: 'changed', hold: open.hold };
  }

  /** Returns undefined if the hold is not open. */
  increase(holdId: string, increase: HoldIncrease, nowMs: number): IncreaseResult | undefined {
    const open = this.orgState.holds.get(holdId);
    if (open === undefined) {
      return undefined;
    }
    const increased = increaseHold(this.orgState, open.hold, increase, nowMs);
    if (increased.kind === 'denied' || increased.kind === 'out_of_range') {
      return increased;
    }
    if (increased.kind === 'increased') {
      open.hold = increased.hold;
      this.changeHold(open.hold);
    }
    return { kind: 'changed', hold: open.hold };
  }

  /** Releases the reservations of the holds. */
  release(holds: readonly Hold[]): void {
    for (const hold of holds) {
      releaseReservation(this.orgState.counters, hold);
      this.removeHold(hold.id);
    }
  }

  /** Removes a hold that has ended, and whose reservation was released or settled. */
  removeHold(holdId: string): void {
    this.orgState.holds.delete(holdId);
    this.endedHolds.add(holdId);
  }
}

export interface ImportedHolds {
  readonly results: ImportedHold[];
  readonly added: readonly AddedHold[];
  /** Holds that a run settled before their import. */
  readonly settledBefore: readonly Hold[];
}
