/** When open holds expire, by the second. */
import type { Hold } from './hold.ts';

export type Expiring = Pick<Hold, 'orgId' | 'id'>;

/** Open holds by the second in which they expire. */
export class Expiries {
  /** Ids of holds, with the org that each belongs to. */
  readonly #bySecond = new Map<number, Map<string, string>>();
  #sweptTo = Number.POSITIVE_INFINITY;

  add({ orgId, id, expiresAtMs }: Hold): void {
    this.#addAt(secondOf(expiresAtMs), orgId, id);
  }

  remove({ id, expiresAtMs }: Hold): void {
    const second = secondOf(expiresAtMs);
    const holds = this.#bySecond.get(second);
    if (holds?.delete(id) === true && holds.size === 0) {
      this.#bySecond.delete(second);
    }
  }

  /** Those that could not end yet are looked at again in a second. */
  putBack(holds: readonly Expiring[], nowMs: number): void {
    for (const { orgId, id } of holds) {
      this.#addAt(secondOf(nowMs) + 1, orgId, id);
    }
  }

  #addAt(second: number, orgId: string, id: string): void {
    const there = this.#bySecond.get(second);
    if (there === undefined) {
      this.#bySecond.set(second, new Map([[id, orgId]]));
    } else {
      there.set(id, orgId);
    }
    this.#sweptTo = Math.min(this.#sweptTo, second);
  }

  takeDue(nowMs: number, limit: number): Expiring[] {
    const due: Expiring[] = [];
    const nowSecond = Math.floor(nowMs / 1_000);
    while (this.#sweptTo <= nowSecond && due.length < limit) {
      const holds = this.#bySecond.get(this.#sweptTo);
      for (const [id, orgId] of holds ?? []) {
        if (due.length === limit) {
          break;
        }
        due.push({ id, orgId });
        holds?.delete(id);
      }
      if (holds === undefined || holds.size === 0) {
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

function secondOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
