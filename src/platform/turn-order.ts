/**
 * The order in which tenants take turns: start-time fair queueing. Each tenant has a virtual time, the number of its turns so
 * far, and the tenant with the lowest one is next. A tenant that was absent keeps its place, up to `credit` turns behind the
 * others: with little work it is ahead of tenants with much, and after a long absence it can overtake them only that often, so
 * that none of them starves.
 */
const creditTurns = 16;
/** Virtual times that are kept before outdated ones are removed. */
const keptMin = 1_000;

export class TurnOrder {
  readonly #credit: number;
  readonly #times = new Map<string, number>();
  /** Virtual time of the turn that was taken last, apart from those of tenants that were behind. */
  #now = 0;
  #keptMax = keptMin;

  constructor(credit = creditTurns) {
    this.#credit = credit;
  }

  /** Number of tenants that are remembered. */
  get size(): number {
    return this.#times.size;
  }

  /** Returns the tenant whose turn is next; the first one if several are equal. */
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

  /** Counts turns that a tenant has taken. */
  count(tenant: string, turns = 1): void {
    const time = this.#timeOf(tenant);
    this.#now = Math.max(this.#now, time);
    this.#times.set(tenant, time + turns);
    if (this.#times.size > this.#keptMax) {
      this.#removeOutdated();
    }
  }

  /** Forgets all turns: while no tenant waits, their number does not matter. */
  clear(): void {
    this.#times.clear();
    this.#now = 0;
  }

  #timeOf(tenant: string): number {
    return Math.max(this.#times.get(tenant) ?? Number.NEGATIVE_INFINITY, this.#now - this.#credit);
  }

  /** Removes tenants that are as far behind as tenants without turns. */
  #removeOutdated(): void {
    for (const [tenant, time] of this.#times) {
      if (time <= this.#now - this.#credit) {
        this.#times.delete(tenant);
      }
    }
    this.#keptMax = Math.max(keptMin, 2 * this.#times.size);
  }
}
