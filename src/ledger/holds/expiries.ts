import type { OpenHold } from './org-ledger-state.ts';

/**
 * Open holds of an org bucketed by the second in which they expire. Removal is lazy: a removed hold stays in its bucket until
 * more than half of the bucket has been removed, because finding each hold by its id would cost more than everything
 * else a hold does in memory.
 */
export class Expiries {
  readonly #bySecond = new Map<number, { opens: OpenHold[]; removed: number }>();
  #sweptTo = Number.POSITIVE_INFINITY;

  add(open: OpenHold): void {
    this.#addAt(secondOf(open.hold.expiresAtMs), open);
  }

  remove(open: OpenHold): void {
    const second = open.dueSecond;
    const due = this.#bySecond.get(second);
    open.dueSecond = Number.NaN;
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
    return this.#bySecond.size === 0;
  }

  /** Number of holds that are due. */
  overdue(nowMs: number): number {
    let count = 0;
    for (const [second, { opens, removed }] of this.#bySecond) {
      count += second * 1_000 <= nowMs ? opens.length - removed : 0;
    }
    return count;
  }

  /**
   * Time since the oldest bucket that is due, in milliseconds; 0 if none is due. A hold that was put back is in the
   * bucket of its next attempt, not in that of its expiry.
   */
  oldestOverdueMs(nowMs: number): number {
    const overdueMs = nowMs - this.#sweptTo * 1_000;
    return Number.isFinite(overdueMs) && overdueMs > 0 ? overdueMs : 0;
  }
}

function secondOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
