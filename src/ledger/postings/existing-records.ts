/** Database records that the postings of a batch refer to. */
import { type CostParts, noParts, sumOfParts } from '../../kernel/cost-parts.ts';
import { type Debit, merged } from '../../kernel/credits.ts';
import type { Amounts, Scope } from '../../kernel/limits.ts';
import { type Paid, type PendingSettlement, paidWith } from '../../kernel/settlement.ts';
import type { RunUsage } from '../posting.ts';
import type { HoldEndRow } from './ledger-writes.ts';

export interface PaidSoFar extends Paid {
  /** True if the run was backfilled. It then burns neither credits nor the prepaid balance. */
  readonly recorded: boolean;
  /** Sums of the entries, by kind of usage. */
  readonly parts: CostParts;
}

export interface ExistingRecords {
  readonly runs: ExistingRuns;
  readonly ends: Map<string, HoldEndRow>;
  /** Amounts paid so far, by corrected run. Updated within the batch: what one correction gives back is not available to the next one. */
  readonly paid: Map<string, PaidSoFar>;
  /** Unsettled runs that postings of the batch may settle late. Updated when the batch corrects such a run. */
  readonly unsettled: Map<string, UnsettledRun>;
  /** Remaining uses of each permit; a missing permit has none. */
  readonly permits: Map<string, number>;
}

/** A run that was posted at the held amount when its hold expired, with all data that its late settlement reverses. */
export interface UnsettledRun<Run = unknown> {
  readonly runId: string;
  readonly run: Run;
  readonly scope: Scope;
  readonly depth: number;
  readonly atMs: number;
  /** The sums over its charge and its corrections. */
  readonly amounts: Amounts;
  readonly paid: PaidSoFar;
  /**
   * The amounts of this run in the counters of credit packs. Set if they exceed `paid.burned`, because a decrease in the same batch
   * reaches the counters only at the commit.
   */
  readonly countedBurned?: readonly Debit[];
  readonly usage: RunUsage;
  /** Id of the entry that will reverse the charge. */
  readonly reversalId: string;
}

/** Returns an unsettled run after a correction in the same batch. */
export function adjustedUnsettled(
  unsettled: UnsettledRun,
  { amounts, burned, uncovered, prepaid }: PendingSettlement,
  parts: CostParts,
): UnsettledRun {
  const { paid, countedBurned = paid.burned } = unsettled;
  return {
    ...unsettled,
    amounts: {
      usd: unsettled.amounts.usd + amounts.usd,
      tokens: unsettled.amounts.tokens + amounts.tokens,
      requests: unsettled.amounts.requests + amounts.requests,
    },
    paid: {
      ...paid,
      ...paidWith(paid, { burned, uncovered, prepaid }),
      parts: sumOfParts(paid.parts, parts),
    },
    countedBurned: merged([...countedBurned, ...burned.filter(({ amount }) => amount > 0n)]),
  };
}

export interface ExistingRun {
  readonly runId: string;
  /** Null if no digest was stored. */
  readonly contentDigest: string | null;
}

/** Existing runs by org and `externalId`. The maps are nested, because building a combined key for each run would be slower. */
export class ExistingRuns {
  readonly #byOrg = new Map<string, Map<string, ExistingRun>>();

  get(orgId: string, externalId: string): ExistingRun | undefined {
    return this.#byOrg.get(orgId)?.get(externalId);
  }

  set(orgId: string, externalId: string, run: ExistingRun): void {
    const runs = this.#byOrg.get(orgId);
    if (runs === undefined) {
      this.#byOrg.set(orgId, new Map([[externalId, run]]));
    } else {
      runs.set(externalId, run);
    }
  }

  delete(orgId: string, externalId: string): void {
    this.#byOrg.get(orgId)?.delete(externalId);
  }
}

export const recordKey = (orgId: string, id: string) => `${orgId} ${id}`;

export const nothingPaid: PaidSoFar = {
  burned: [],
  uncovered: 0n,
  prepaid: 0n,
  recorded: false,
  parts: noParts,
};
