/**
 * Settlements that are not posted yet. Failed ones wait separately, so that they do not delay others: settlements that failed by
 * themselves, and all settlements of an org whose ledger is unavailable. On Citus, the ledger of a single org may be unavailable.
 */
export interface QueuedSettlement {
  readonly settlement: { readonly orgId: string };
  /** True if the last attempt failed because the ledger was unavailable. */
  isLedgerAway: boolean;
}

export class SettlementQueue<Pending extends QueuedSettlement> {
  readonly #ready: Pending[] = [];
  /** Settlements that failed although the ledger of their org was available. */
  readonly #failed: Pending[] = [];
  /** Settlements of orgs whose ledger is unavailable. An org moves to the end after each attempt. */
  readonly #away = new Map<string, Pending[]>();

  /** Number of settlements that can be posted now. */
  get ready(): number {
    return this.#ready.length;
  }

  get size(): number {
    const away = [...this.#away.values()].reduce((sum, ofOrg) => sum + ofOrg.length, 0);
    return this.#ready.length + this.#failed.length + away;
  }

  isAway(orgId: string): boolean {
    return this.#away.has(orgId);
  }

  add(pending: Pending): void {
    (this.#away.get(pending.settlement.orgId) ?? this.#ready).push(pending);
  }

  take(count: number): Pending[] {
    return this.#ready.splice(0, count);
  }

  /** Adds failed settlements of a batch again. Returns false if the ledger was unavailable for all orgs of the batch. */
  takeBack(batch: readonly Pending[], failed: ReadonlySet<Pending>): boolean {
    const available = new Set(
      batch.flatMap((one) => (failed.has(one) && one.isLedgerAway ? [] : one.settlement.orgId)),
    );
    const orgsAwayBefore = this.#away.size;
    for (const pending of failed) {
      const { orgId } = pending.settlement;
      if (available.has(orgId)) {
        this.#failed.push(pending);
      } else if (this.#away.get(orgId)?.push(pending) === undefined) {
        this.#away.set(orgId, [pending]);
      }
    }
    if (this.#away.size > orgsAwayBefore) {
      // The other settlements of these orgs would fail too.
      this.#addAll(this.#ready.splice(0));
    }
    for (const orgId of available) {
      const ofOrg = this.#away.get(orgId) ?? [];
      this.#away.delete(orgId);
      this.#addAll(ofOrg);
    }
    return available.size > 0;
  }

  #addAll(settlements: readonly Pending[]): void {
    for (const pending of settlements) {
      this.add(pending);
    }
  }

  /**
   * Makes failed settlements ready for another attempt, at most `count` of each kind. For an org whose ledger is unavailable, only
   * one is tried. Its others become ready when the ledger is available.
   */
  retry(count: number): void {
    this.#ready.push(...this.#failed.splice(0, count));
    for (const [orgId, ofOrg] of [...this.#away].slice(0, count)) {
      this.#away.delete(orgId);
      this.#away.set(orgId, ofOrg);
      this.#ready.push(...ofOrg.splice(0, 1));
    }
  }
}
