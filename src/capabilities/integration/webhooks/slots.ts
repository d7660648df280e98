/**
 * Limits concurrent work. Orgs are served in turn, and no org uses more than its share, so slow receivers of one org do
 * not take the slots of others.
 */
export class Slots {
  #free: number;
  readonly #perOrg: number;
  readonly #inUse = new Map<string, number>();
  /** Ordered by turn: the org that is served next comes first. */
  readonly #waiting = new Map<string, ((granted: boolean) => void)[]>();
  #isClosed = false;

  constructor(count: number, perOrg: number) {
    this.#free = count;
    this.#perOrg = perOrg;
  }

  /** Runs `work` in a slot. Returns undefined, without running it, if the slots were closed first. */
  async use<Result>(orgId: string, work: () => Promise<Result>): Promise<Result | undefined> {
    if (!(await this.#take(orgId))) {
      return undefined;
    }
    try {
      return await work();
    } finally {
      this.#giveBack(orgId);
    }
  }

  /** Prevents further work, including work that waits for a slot. */
  close(): void {
    this.#isClosed = true;
    for (const queue of this.#waiting.values()) {
      for (const told of queue) {
        told(false);
      }
    }
    this.#waiting.clear();
  }

  #take(orgId: string): boolean | Promise<boolean> {
    if (this.#isClosed) {
      return false;
    }
    if (this.#free > 0 && this.#hasShareLeft(orgId)) {
      this.#occupy(orgId);
      return true;
    }
    const queue = this.#waiting.get(orgId) ?? [];
    this.#waiting.set(orgId, queue);
    return new Promise((resolve) => queue.push(resolve));
  }

  #hasShareLeft(orgId: string): boolean {
    return (this.#inUse.get(orgId) ?? 0) < this.#perOrg;
  }

  #occupy(orgId: string): void {
    this.#free -= 1;
    this.#inUse.set(orgId, (this.#inUse.get(orgId) ?? 0) + 1);
  }

  #giveBack(orgId: string): void {
    this.#free += 1;
    const left = (this.#inUse.get(orgId) ?? 0) - 1;
    if (left > 0) {
      this.#inUse.set(orgId, left);
    } else {
      this.#inUse.delete(orgId);
    }
    this.#serveNext();
  }

  #serveNext(): void {
    for (const [orgId, queue] of this.#waiting) {
      const next = this.#hasShareLeft(orgId) ? queue.shift() : undefined;
      if (next !== undefined) {
        this.#waiting.delete(orgId);
        if (queue.length > 0) {
          this.#waiting.set(orgId, queue);
        }
        this.#occupy(orgId);
        next(true);
        return;
      }
    }
  }
}
