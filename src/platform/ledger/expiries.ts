/** When open holds expire, by the second. */
import type { Hold } from './hold.ts';

export type Expiring = Pick<Hold, 'orgId' | 'id'>;

/** Holds by the second in which they expire. */
export class Expiries {
  readonly #bySecond = new Map<number, Expiring[]>();
  #sweptTo = Number.POSITIVE_INFINITY;

  add({ orgId, id, expiresAtMs }: Hold): void {
    this.#addAt(Math.ceil(expiresAtMs / 1_000), { orgId, id });
  }

  /** Those that could not end yet are looked at again in a second. */
  putBack(holds: readonly Expiring[], nowMs: number): void {
    for (const { orgId, id } of holds) {
      this.#addAt(Math.ceil(nowMs / 1_000) + 1, { orgId, id });
    }
  }

  #addAt(second: number, hold: Expiring): void {
    const there = this.#bySecond.get(second);
    if (there === undefined) {
      this.#bySecond.set(second, [hold]);
    } else {
      there.push(hold);
    }
    this.#sweptTo = Math.min(this.#sweptTo, second);
  }

  takeDue(nowMs: number, limit: number): Expiring[] {
    const due: Expiring[] = [];
    const nowSecond = Math.floor(nowMs / 1_000);
    while (this.#sweptTo <= nowSecond && due.length < limit) {
      const holds = this.#bySecond.get(this.#sweptTo) ?? [];
      due.push(...holds.splice(0, limit - due.length));
      if (holds.length === 0) {
        this.#bySecond.delete(this.#sweptTo);
        this.#sweptTo = this.#bySecond.size === 0 ? Number.POSITIVE_INFINITY : this.#next(nowSecond);
      }
    }
    return due;
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
