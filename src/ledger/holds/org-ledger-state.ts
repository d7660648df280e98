/**
 * The book of one org in memory: its limits, the counters that are known, and open holds. On the embedded engine it is
 * the truth and lives as long as the process; on PostgreSQL it is made for one transaction, from what that has locked.
 */
import { applicableCounters, type Counter, countsIn, type LimitWindow } from '../../kernel/admission.ts';
import type { OrgLimits, Scope } from '../../kernel/limits.ts';
import { staleCounters } from '../limits/stale-counters.ts';
import type { Hold } from './hold.ts';

/** A counter that has to be made before the decision, with the charge that asks for it. */
export interface MissingCounter {
  readonly window: LimitWindow;
  readonly scope: Scope;
}

export interface OpenHold {
  hold: Hold;
  /** It is being settled, voided or expired: nobody else may end it. */
  ending: boolean;
  /** Where the embedded engine's log has it; undefined before it is durable. */
  place: LogPlace | undefined;
  /** Under which second the embedded engine will look whether it has expired; NaN: under none. */
  dueSecond: number;
}

export class OrgLedgerState {
  readonly orgId: string;
  readonly counters = new Map<string, Counter>();
  readonly holds = new Map<string, OpenHold>();
  #limits: OrgLimits;
  /** Every posting since then was counted here, so a window that began later and has no counter is at zero. */
  #completeSinceMs: number;

  constructor(limits: OrgLimits, completeSinceMs: number) {
    this.orgId = limits.orgId;
    this.#limits = limits;
    this.#completeSinceMs = completeSinceMs;
  }

  get limits(): OrgLimits {
    return this.#limits;
  }

  /** After a change, what was not counted before may have to be: only windows yet to begin are known to be at zero. */
  changeLimits(limits: OrgLimits, nowMs: number): void {
    if (limits.version !== this.#limits.version) {
      this.#completeSinceMs = Math.max(this.#completeSinceMs, completeFrom(nowMs));
      this.#forgetUncounted(limits);
    }
    this.#limits = limits;
  }

  #forgetUncounted(limits: OrgLimits): void {
    const gap = staleCounters(this.#limits, limits);
    for (const key of gap === undefined ? [] : this.counters.keys()) {
      if (gap?.(key)) {
        this.counters.delete(key);
      }
    }
  }

  keep(hold: Hold): OpenHold {
    const open: OpenHold = { hold, ending: false, place: undefined, dueSecond: Number.NaN };
    this.holds.set(hold.id, open);
    return open;
  }

  /** Those of the counters that nobody can know without asking the database. */
  missing(windows: readonly LimitWindow[], scope: Scope): MissingCounter[] {
    const missing: MissingCounter[] = [];
    for (const one of windows) {
      if (!this.counters.has(one.key)) {
        if (one.window.startMs >= this.#completeSinceMs) {
          this.counters.set(one.key, { settled: 0n, held: 0n, alerted: 0, endMs: one.window.endMs });
        } else {
          missing.push({ window: one, scope });
        }
      }
    }
    return missing;
  }

  /** Adds a counter with what is settled, and what the open holds take of it. Returns the holds that now take it too. */
  addCounter({ limit, key, window }: LimitWindow, settled: bigint, alerted: number): Hold[] {
    const counter: Counter = { settled, held: 0n, alerted, endMs: window.endMs };
    const joined: Hold[] = [];
    for (const open of this.holds.values()) {
      const { hold } = open;
      if (limit.kind === 'credits') {
        counter.held += hold.packs.find((pack) => pack.key === key)?.amount ?? 0n;
        continue;
      }
      const there = hold.shares.find((share) => share.key === key);
      if (there !== undefined) {
        counter.held += hold.amounts[there.unit];
      } else if (countsIn(hold.surface, limit.kind)) {
        const { scope, admittedAtMs, surface } = hold;
        const share = applicableCounters(this.#limits, scope, admittedAtMs, surface).shares.find(
          (one) => one.key === key,
        );
        if (share !== undefined && hold.amounts[share.unit] > 0n) {
          counter.held += hold.amounts[share.unit];
          open.hold = { ...hold, shares: [...hold.shares, share] };
          joined.push(open.hold);
        }
      }
    }
    this.counters.set(key, counter);
    return joined;
  }

  /** Forgets the counters of windows that are over, and of all that can be made again once there are too many. */
  prune(nowMs: number): void {
    const tooMany = this.counters.size > countersMax;
    for (const [key, { held, endMs }] of this.counters) {
      const over = endMs + keptAfterEndMs <= nowMs;
      if (held === 0n && (over || tooMany)) {
        this.counters.delete(key);
        this.#completeSinceMs = Math.max(this.#completeSinceMs, over ? endMs : completeFrom(nowMs));
      }
    }
  }
}

/** History may be recorded a little ahead of time, so the books of windows that are about to begin are not empty for sure. */
const recordedAheadMs = 5 * 60_000;

/** From when on every posting is counted by someone who begins to count now. */
export function completeFrom(nowMs: number): number {
  return nowMs + recordedAheadMs + 1;
}

const countersMax = 50_000;
/** Late settles still count in the window before. */
const keptAfterEndMs = 24 * 3_600_000;

/** Where in the log a hold is, for the log alone to read. */
export interface LogPlace {
  readonly path: string;
}
