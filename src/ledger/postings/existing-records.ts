/** What the books already say about the postings of a batch. */
import type { Paid } from '../../kernel/settlement.ts';
import type { HoldEndRow } from './ledger-writes.ts';

export interface PaidSoFar extends Paid {
  /** It is history, which burns neither credits nor a prepaid balance. */
  readonly recorded: boolean;
}

export interface ExistingRecords {
  readonly runs: ExistingRuns;
  readonly ends: Map<string, HoldEndRow>;
  /** Of each run that is corrected; what one correction gives back is not there for the next. */
  readonly paid: Map<string, PaidSoFar>;
  /** How often each permit may still be used; one that is missing may not. */
  readonly permits: Map<string, number>;
}

export interface ExistingRun {
  readonly runId: string;
  /** Null where none was kept. */
  readonly contentDigest: string | null;
}

/** The runs that have these ids of their callers. By org, so that none needs a name put together for it. */
export class ExistingRuns {
  readonly #byOrg = new Map<string, Map<string, ExistingRun>>();

  get(orgId: string, externalId: string): ExistingRun | undefined {
    return this.#byOrg.get(orgId)?.get(externalId);
  }

  set(orgId: string, externalId: string, run: ExistingRun): void {
    const there = this.#byOrg.get(orgId);
    if (there === undefined) {
      this.#byOrg.set(orgId, new Map([[externalId, run]]));
    } else {
      there.set(externalId, run);
    }
  }

  delete(orgId: string, externalId: string): void {
    this.#byOrg.get(orgId)?.delete(externalId);
  }
}

export const recordKey = (orgId: string, id: string) => `${orgId} ${id}`;

export const nothingPaid: PaidSoFar = { burned: [], uncovered: 0n, prepaid: 0n, recorded: false };
