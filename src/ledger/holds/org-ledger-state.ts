/**
 * The ledger state of one org in memory: its limits, its loaded counters and its open holds. On the embedded engine
 * this state is authoritative and lives as long as the process; on PostgreSQL it is created for one transaction
 * from the rows that the transaction reads under the lock of the org.
 */
import { applicableCounters, type Counter, countsIn, type LimitWindow } from '../../kernel/admission.ts';
import type { OrgLimits, Scope } from '../../kernel/limits.ts';
import { resizedLimits, staleCounters } from '../limits/stale-counters.ts';
import type { Hold } from './hold.ts';

/** A counter that must be created before the decision, and the scope of the charge that needs it. */
export interface MissingCounter {
  readonly limitWindow: LimitWindow;
  readonly scope: Scope;
}

export interface OpenHold {
  hold: Hold;
  /** True while the hold is being settled, voided or expired. Nothing else may end it then. */
  ending: boolean;
  /** Location in the hold log of the embedded engine; undefined until the hold is durable. */
  logLocation: LogLocation | undefined;
  /** True once the hold log of the embedded engine must not contain the hold any more. */
  isForgotten: boolean;
  /** The bucket of `Expiries` that contains the hold; NaN: none. */
  dueSecond: number;
}

export class OrgLedgerState {
  readonly orgId: string;
  readonly counters = new Map<string, Counter>();
  readonly holds = new Map<string, OpenHold>();
  #limits: OrgLimits;
  /** All postings since this time are counted in memory. So a window that started later and has no counter is at zero. */
  #completeSinceMs: number;

  constructor(limits: OrgLimits, completeSinceMs: number) {
    this.orgId = limits.orgId;
    this.#limits = limits;
    this.#completeSinceMs = completeSinceMs;
  }

  get limits(): OrgLimits {
    return this.#limits;
  }

  /**
   * Replaces the limits. A changed limit may apply to charges that it did not count before, so from now on only windows that start
   * later are known to be at zero.
   */
  changeLimits(limits: OrgLimits, nowMs: number): void {
    if (limits.version !== this.#limits.version) {
      this.#completeSinceMs = Math.max(this.#completeSinceMs, completeFrom(nowMs));
      this.#evictStaleCounters(limits);
      this.#resetAlerts(limits);
    }
    this.#limits = limits;
  }

  #evictStaleCounters(limits: OrgLimits): void {
    const isStale = staleCounters(this.#limits, limits);
    for (const key of isStale === undefined ? [] : this.counters.keys()) {
      if (isStale?.(key)) {
        this.counters.delete(key);
      }
    }
  }

  #resetAlerts(limits: OrgLimits): void {
    const resized = resizedLimits(this.#limits, limits);
    for (const [key, counter] of resized.size === 0 ? [] : this.counters) {
      if (resized.has(key.slice(0, key.indexOf('@')))) {
        counter.alerted = 0;
      }
    }
  }

  addHold(hold: Hold): OpenHold {
    const open: OpenHold = {
      hold,
      ending: false,
      logLocation: undefined,
      isForgotten: false,
      dueSecond: Number.NaN,
    };
    this.holds.set(hold.id, open);
    return open;
  }

  /**
   * Returns the counters that must be read from the database. Creates the missing counters that are known to be at
   * zero.
   */
  missingCounters(windows: readonly LimitWindow[], scope: Scope): MissingCounter[] {
    const missing: MissingCounter[] = [];
    for (const one of windows) {
      if (!this.counters.has(one.key)) {
        if (one.window.startMs >= this.#completeSinceMs) {
          this.counters.set(one.key, {
            settled: 0n,
            held: 0n,
            growth: 0n,
            alerted: 0,
            endMs: one.window.endMs,
          });
        } else {
          missing.push({ limitWindow: one, scope });
        }
      }
    }
    return missing;
  }

  /**
   * Adds a counter with its settled amount and the amounts of open holds. Returns the holds that now also reserve
   * in this counter.
   */
  addCounter({ limit, key, window }: LimitWindow, settled: bigint, alerted: number): Hold[] {
    const counter: Counter = { settled, held: 0n, growth: 0n, alerted, endMs: window.endMs };
    const changedHolds: Hold[] = [];
    for (const open of this.holds.values()) {
      const { hold } = open;
      if (limit.kind === 'credits') {
        counter.held += hold.packs.find((pack) => pack.key === key)?.amount ?? 0n;
        continue;
      }
      const reserved = hold.shares.find((share) => share.key === key);
      if (reserved !== undefined) {
        counter.held += hold.amounts[reserved.unit];
        counter.growth += hold.growth?.[reserved.unit] ?? 0n;
      } else if (countsIn(hold.surface, limit.kind)) {
        const { scope, admittedAtMs, surface } = hold;
        const share = applicableCounters(this.#limits, scope, admittedAtMs, surface).shares.find(
          (one) => one.key === key,
        );
        if (share !== undefined && hold.amounts[share.unit] > 0n) {
          counter.held += hold.amounts[share.unit];
          counter.growth += hold.growth?.[share.unit] ?? 0n;
          open.hold = { ...hold, shares: [...hold.shares, share] };
          changedHolds.push(open.hold);
        }
      }
    }
    this.counters.set(key, counter);
    return changedHolds;
  }

  /**
   * Evicts counters that hold nothing and can be recreated: those of windows that ended a day ago, or all of them if there are too
   * many counters.
   */
  evictCounters(nowMs: number): void {
    const tooMany = this.counters.size > countersMax;
    for (const [key, { held, endMs }] of this.counters) {
      const hasEnded = endMs + retainedAfterEndMs <= nowMs;
      if (held === 0n && (hasEnded || tooMany)) {
        this.counters.delete(key);
        this.#completeSinceMs = Math.max(this.#completeSinceMs, hasEnded ? endMs : completeFrom(nowMs));
      }
    }
  }
}

/** Runs may be backfilled up to this far into the future, so a window that is about to start may not be empty. */
const backfillAheadMs = 5 * 60_000;

/** Returns the time from which every posting is counted, if counting starts now. */
export function completeFrom(nowMs: number): number {
  return nowMs + backfillAheadMs + 1;
}

const countersMax = 50_000;
/** Time that a counter is kept after its window has ended, because late settlements still count in it. */
const retainedAfterEndMs = 24 * 3_600_000;

/** Location of a hold in the hold log; opaque outside the log. */
export interface LogLocation {
  readonly path: string;
}
