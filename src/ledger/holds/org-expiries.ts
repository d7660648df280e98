import { Expiries, type Overdue } from './expiries.ts';
import type { OpenHold } from './org-ledger-state.ts';

export interface BatchLimits {
  readonly total: number;
  readonly perOrg: number;
}

export interface DueBatch {
  readonly holds: readonly OpenHold[];
  /** True if more holds may be due. */
  readonly more: boolean;
}

/** The `Expiries` of all orgs. A batch takes a bounded number from each org, so that a backlog of one does not delay others. */
export class OrgExpiries {
  /** Orgs in the order of their turns: an org moves to the end when it is served. */
  readonly #byOrg = new Map<string, Expiries>();

  add(open: OpenHold): void {
    this.#of(open).add(open);
  }

  remove(open: OpenHold): void {
    const { orgId } = open.hold;
    const expiries = this.#byOrg.get(orgId);
    expiries?.remove(open);
    if (expiries?.isEmpty() === true) {
      this.#byOrg.delete(orgId);
    }
  }

  /** Moves a hold whose expiry has changed. */
  move(open: OpenHold): void {
    this.#of(open).move(open);
  }

  /** Schedules holds that could not be ended for another attempt in the next second. */
  putBack(opens: readonly OpenHold[], nowMs: number): void {
    for (const open of opens) {
      this.#of(open).putBack([open], nowMs);
    }
  }

  takeDue(nowMs: number, { total, perOrg }: BatchLimits): DueBatch {
    const holds: OpenHold[] = [];
    const served: [string, Expiries][] = [];
    let more = false;
    for (const [orgId, expiries] of this.#byOrg) {
      if (holds.length >= total) {
        more = true;
        break;
      }
      const taken = expiries.takeDue(nowMs, Math.min(perOrg, total - holds.length));
      if (expiries.isEmpty()) {
        this.#byOrg.delete(orgId);
      } else if (taken.length > 0) {
        served.push([orgId, expiries]);
      }
      holds.push(...taken);
      more ||= taken.length === perOrg;
    }
    for (const [orgId, expiries] of served) {
      this.#byOrg.delete(orgId);
      this.#byOrg.set(orgId, expiries);
    }
    return { holds, more };
  }

  overdue(nowMs: number): Overdue {
    let holds = 0;
    let oldestMs = 0;
    for (const expiries of this.#byOrg.values()) {
      const ofOrg = expiries.overdue(nowMs);
      holds += ofOrg.holds;
      oldestMs = Math.max(oldestMs, ofOrg.oldestMs);
    }
    return { holds, oldestMs };
  }

  #of({ hold: { orgId } }: OpenHold): Expiries {
    let expiries = this.#byOrg.get(orgId);
    if (expiries === undefined) {
      expiries = new Expiries();
      this.#byOrg.set(orgId, expiries);
    }
    return expiries;
  }
}
