/**
 * The order in which tenants take turns: start-time fair queueing. Each tenant has a virtual time, the number of its turns so far,
 * and the tenant with the lowest one is next. A tenant that was absent keeps its virtual time, but counts as at most `credit` turns
 * behind. So with little work it overtakes tenants with much, but after a long absence only `credit` times, so that no tenant
 * starves.
 */
const creditTurns = 16;
/** Minimum number of virtual times that are kept before outdated ones are removed. */
const keptMin = 1_000;

export class TurnOrder {
  readonly #credit: number;
  readonly #times = new Map<string, number>();
  /** Highest virtual time of the turns that were taken. */
  #now = 0;
  #keptMax = keptMin;

  constructor(credit = creditTurns) {
    this.#credit = credit;
  }

  /** Number of tenants with a virtual time. */
  get size(): number {
    return this.#times.size;
  }

  /** Returns the tenant with the next turn; the first one of several equal ones. */
  first(tenants: Iterable<string>): string | undefined {
    let first: string | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const tenant of tenants) {
      const time = this.#timeOf(tenant);
      if (time < lowest) {
        lowest = time;
        first = tenant;
      }
    }
    return first;
  }

  /** Returns the tenants in the order of their turns. */
  sorted(tenants: Iterable<string>): string[] {
    return [...tenants].sort((a, b) => this.#timeOf(a) - this.#timeOf(b));
  }

  /** Counts turns of a tenant. */
  count(tenant: string, turns = 1): void {
    const time = this.#timeOf(tenant);
    this.#now = Math.max(this.#now, time);
    this.#times.set(tenant, time + turns);
    if (this.#times.size > this.#keptMax) {
      this.#removeOutdated();
    }
  }

  /** Resets all turns, because their number does not matter while no tenant waits. */
  clear(): void {
    this.#times.clear();
    this.#now = 0;
  }

  #timeOf(tenant: string): number {
    return Math.max(this.#times.get(tenant) ?? Number.NEGATIVE_INFINITY, this.#now - this.#credit);
  }

  /** Removes tenants that are so far behind that they count like new ones. */
  #removeOutdated(): void {
    for (const [tenant, time] of this.#times) {
      if (time <= this.#now - this.#credit) {
        this.#times.delete(tenant);
      }
    }
    this.#keptMax = Math.max(keptMin, 2 * this.#times.size);
  }
}
