import type { OpenHold } from './org-ledger-state.ts';

/** Holds that have expired and not ended yet. */
export interface Overdue {
  readonly holds: number;
  /** Time since the oldest of these holds expired; 0 if there are none. */
  readonly oldestMs: number;
}

/**
 * Open holds of an org, bucketed by the second in which they expire. Removal is lazy: a removed hold stays in its bucket until more
 * than half of the bucket is removed. Finding each hold by its id would cost more than all other work in memory for a hold.
 */
export class Expiries {
  readonly #bySecond = new Map<number, { opens: OpenHold[]; removed: number }>();
  /** Holds that were taken as due and have not ended since. The next attempt is scheduled, or the last one is in progress. */
  readonly #tried = new Set<OpenHold>();
  #sweptTo = Number.POSITIVE_INFINITY;

  add(open: OpenHold): void {
    this.#addAt(secondOf(open.hold.expiresAtMs), open);
  }

  remove(open: OpenHold): void {
    const second = open.dueSecond;
    const due = this.#bySecond.get(second);
    open.dueSecond = Number.NaN;
    this.#tried.delete(open);
    if (due === undefined) {
      return;
    }
    due.removed += 1;
    if (due.removed * 2 > due.opens.length) {
      due.opens = due.opens.filter(({ dueSecond }) => dueSecond === second);
      due.removed = 0;
      if (due.opens.length === 0) {
        this.#bySecond.delete(second);
      }
    }
  }

  /** Moves a hold whose expiry has changed. */
  move(open: OpenHold): void {
    if (open.dueSecond !== secondOf(open.hold.expiresAtMs)) {
      this.remove(open);
      this.add(open);
    }
  }

  /** Schedules holds that could not be ended for another attempt in the next second. */
  putBack(opens: readonly OpenHold[], nowMs: number): void {
    for (const open of opens) {
      this.#addAt(secondOf(nowMs) + 1, open);
    }
  }

  #addAt(second: number, open: OpenHold): void {
    open.dueSecond = second;
    const there = this.#bySecond.get(second);
    if (there === undefined) {
      this.#bySecond.set(second, { opens: [open], removed: 0 });
    } else {
      there.opens.push(open);
    }
    this.#sweptTo = Math.min(this.#sweptTo, second);
  }

  takeDue(nowMs: number, limit: number): OpenHold[] {
    const dueHolds: OpenHold[] = [];
    const nowSecond = Math.floor(nowMs / 1_000);
    while (this.#sweptTo <= nowSecond && dueHolds.length < limit) {
      const due = this.#bySecond.get(this.#sweptTo);
      const open = due?.opens.pop();
      if (due === undefined || open === undefined) {
        this.#bySecond.delete(this.#sweptTo);
        this.#sweptTo = this.#bySecond.size === 0 ? Number.POSITIVE_INFINITY : this.#next(nowSecond);
      } else if (open.dueSecond === this.#sweptTo) {
        open.dueSecond = Number.NaN;
        this.#tried.add(open);
        dueHolds.push(open);
      } else {
        due.removed -= 1;
      }
    }
    return dueHolds;
  }

  #next(nowSecond: number): number {
    let next = this.#sweptTo + 1;
    while (next <= nowSecond && !this.#bySecond.has(next)) {
      next += 1;
    }
    return next;
  }

  isEmpty(): boolean {
    return this.#bySecond.size === 0 && this.#tried.size === 0;
  }

  overdue(nowMs: number): Overdue {
    let holds = 0;
    let oldestMs = 0;
    const count = ({ hold: { expiresAtMs } }: OpenHold) => {
      if (expiresAtMs <= nowMs) {
        holds += 1;
        oldestMs = Math.max(oldestMs, nowMs - expiresAtMs);
      }
    };
    for (const open of this.#tried) {
      count(open);
    }
    for (const [second, { opens }] of this.#bySecond) {
      if (second * 1_000 <= nowMs) {
        for (const open of opens) {
          if (open.dueSecond === second && !this.#tried.has(open)) {
            count(open);
          }
        }
      }
    }
    return { holds, oldestMs };
  }
}

function secondOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
