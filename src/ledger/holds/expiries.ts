/** When open holds expire, by the second. */
import type { OpenHold } from './org-ledger-state.ts';

/**
 * Open holds by the second in which they expire. One that leaves stays in its list until half of the list has left: to
 * look each of them up by its id would cost more than all the rest of a hold's way through memory.
 */
export class Expiries {
  readonly #bySecond = new Map<number, { opens: OpenHold[]; left: number }>();
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
    due.left += 1;
    if (due.left * 2 > due.opens.length) {
      due.opens = due.opens.filter(({ dueSecond }) => dueSecond === second);
      due.left = 0;
      if (due.opens.length === 0) {
        this.#bySecond.delete(second);
      }
    }
  }

  /** It expires at another time now. */
  move(open: OpenHold): void {
    if (open.dueSecond !== secondOf(open.hold.expiresAtMs)) {
      this.remove(open);
      this.add(open);
    }
  }

  /** Those that could not end yet are looked at again in a second. */
  putBack(opens: readonly OpenHold[], nowMs: number): void {
    for (const open of opens) {
      this.#addAt(secondOf(nowMs) + 1, open);
    }
  }

  #addAt(second: number, open: OpenHold): void {
    open.dueSecond = second;
    const there = this.#bySecond.get(second);
    if (there === undefined) {
      this.#bySecond.set(second, { opens: [open], left: 0 });
    } else {
      there.opens.push(open);
    }
    this.#sweptTo = Math.min(this.#sweptTo, second);
  }

  takeDue(nowMs: number, limit: number): OpenHold[] {
    const taken: OpenHold[] = [];
    const nowSecond = Math.floor(nowMs / 1_000);
    while (this.#sweptTo <= nowSecond && taken.length < limit) {
      const due = this.#bySecond.get(this.#sweptTo);
      const open = due?.opens.pop();
      if (open === undefined) {
        this.#bySecond.delete(this.#sweptTo);
        this.#sweptTo = this.#bySecond.size === 0 ? Number.POSITIVE_INFINITY : this.#next(nowSecond);
      } else if (open.dueSecond === this.#sweptTo) {
        open.dueSecond = Number.NaN;
        taken.push(open);
      }
    }
    return taken;
  }

  #next(nowSecond: number): number {
    let next = this.#sweptTo + 1;
    while (next <= nowSecond && !this.#bySecond.has(next)) {
      next += 1;
    }
    return next;
  }

  /** How long the oldest of those past their time has been so. */
  oldestMs(nowMs: number): number {
    const overdueMs = nowMs - this.#sweptTo * 1_000;
    return Number.isFinite(overdueMs) && overdueMs > 0 ? overdueMs : 0;
  }
}

function secondOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
