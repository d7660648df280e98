/** Postings to the ledger and their results. */
import type { AttributionValues } from '../contract/attribution.ts';
import type { CostParts } from '../kernel/cost-parts.ts';
import type { Denial } from '../kernel/denial.ts';
import type { Fit } from '../kernel/fit.ts';
import type { LimitUse } from '../kernel/limit-use.ts';
import type { Amounts, Scope } from '../kernel/limits.ts';
import type { PendingSettlement } from '../kernel/settlement.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { HeldService, Hold } from './holds/hold.ts';

/** The measurements of a run, for its row and for the usage rollups. */
export interface RunUsage {
  readonly status: string;
  readonly inputTokens: bigint;
  readonly cachedInputTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly outputTokens: bigint;
  /** Null if not reported. */
  readonly valueNanos: bigint | null;
  /** Null if not reported. */
  readonly latencyMs: bigint | null;
}

export interface Posting<Run = unknown> {
  readonly kind: /** A new run that is finished: it settles its hold, or is admitted and settled at once. */
    | 'charge'
    /** A new run in progress: it is admitted, and its estimate is held. */
    | 'open'
    /** A new run in progress under an existing hold. */
    | 'adopt'
    /** A backfilled run with its own time. It skips the admission check. */
    | 'record'
    /** The completion of a run that was opened or adopted. */
    | 'complete'
    /** A correction of a posted run. */
    | 'adjust'
    /**
     * The held amount of a hold that expired without a settlement. It is posted for a new run, or for the run in progress under the
     * hold.
     */
    | 'expire'
    /** The late settlement of such a hold by a new run, which replaces the run that the expiry created. */
    | 'resettle'
    /** Gives back the charge of an expired hold before its late settlement. Only the ledger makes this posting. */
    | 'reverse';
  readonly runId: string;
  /** Set for `expire` if the hold belongs to a run in progress. */
  readonly runExists?: true | undefined;
  readonly externalId: string | null;
  /** Digest of the request content. A run with the same `externalId` and a different digest is rejected. Null: not compared. */
  readonly contentDigest?: string | null;
  /** Id of the ledger entry that this posting creates. */
  readonly entryId: string;
  readonly scope: Scope;
  /**
   * The values of the calling key, if the posting names a decision. Unlike the values in the scope, they never contradict the
   * decision: they only apply where neither the run nor its hold has a value (`settledScope`).
   */
  readonly attribution?: AttributionValues | undefined;
  readonly depth: number;
  /** The actual amounts; for `open`, the maximum. For a correction, the usd may be negative. */
  readonly amounts: Amounts;
  /** The cost by kind. The rest of the cost is unsplit. */
  readonly parts: CostParts;
  /** Nanodollars by which cached tokens were cheaper than other input. */
  readonly cacheSavings: bigint;
  /** The hold that the posting settles or that the run uses; for `open`, the id of the hold to create. */
  readonly decisionId: string | null;
  /**
   * The time of the decision if its id proves that it was given fail-open. The ledger may not have such a decision yet, or may
   * never get it; the run is posted nevertheless.
   */
  readonly failOpenAtMs?: number | undefined;
  readonly holdSeconds: number;
  /** The time of the charge, for `record` and `adjust`. For `complete`, it is used if the hold no longer exists. */
  readonly atMs: number | null;
  readonly priceVersion: string | null;
  /** For `open`: present if the rates of the price depend on the service. */
  readonly service?: HeldService | undefined;
  /**
   * For `open`: present if a smaller hold is acceptable. The ledger then takes the largest hold that all limits allow. `amounts`
   * are the maximum.
   */
  readonly fit?: Fit | undefined;
  /** For `open`: set if the held amount is posted when the hold expires without a settlement, regardless of the org's setting. */
  readonly postIfUnsettled?: true | undefined;
  /** Set for the end of a call that cost nothing. The idempotency key of its hold is not stored then, so that the call can be repeated. */
  readonly releasesKey?: true | undefined;
  /** The provider that served a call of this service: it may differ from that of its hold, which was taken before. */
  readonly servedBy?: string | undefined;
  /** Marks that the caller sets, in addition to those of the ledger. */
  readonly marks?: readonly Mark[] | undefined;
  /** Set if the actual cost of a settlement is unknown. The larger of the held amount and `amounts` is posted with this mark. */
  readonly costAsHeld?: 'unpriced' | 'usage_missing' | undefined;
  /** True if the model has no price. The posting is then marked, whatever its cost is. */
  readonly isUnpriced?: boolean | undefined;
  readonly usage: RunUsage;
  /** The reason for a correction. */
  readonly note?: string | undefined;
  /** The caller who made a correction. */
  readonly actor?: { readonly kind: string; readonly id: string } | undefined;
  /** Id of a permit that is required for this posting. One use is consumed if the posting is accepted. */
  readonly permit?: string | undefined;
  /** The run to be stored; opaque to the ledger. */
  readonly run: Run;
  /**
   * Returns the run as it is stored under another id. Present if the run depends on its id: a late settlement takes the id of its
   * unsettled run.
   */
  readonly runUnder?: ((runId: string) => Run) | undefined;
}

/** Returns true for postings that need the admission check. All others use an existing hold, record a past run or correct one. */
export function needsAdmission({ kind, decisionId }: Posting): boolean {
  return kind === 'open' || (kind === 'charge' && decisionId === null);
}

/** Returns true if the posting creates its run. */
export function createsRun({ kind, runExists }: Posting): boolean {
  switch (kind) {
    case 'charge':
    case 'open':
    case 'adopt':
    case 'record':
      return true;
    case 'expire':
      return runExists !== true;
    default:
      return false;
  }
}

/** Postings of one request, applied in one transaction: all together or not at all, unless `skipRejected` is set. */
export interface PostingGroup<Run = unknown> {
  readonly orgId: string;
  readonly postings: readonly Posting<Run>[];
  /** True: rejected postings are left out, and the others are applied. */
  readonly skipRejected?: boolean;
  /** Stores the idempotent response in the transaction of the postings. Throws to abort the transaction. */
  storeResponse?(tx: Transaction, posted: readonly Outcome<Run>[]): Promise<void>;
}

/** Returns true if the group has only finished runs without a decision, and accepts or rejects all of them together. */
export function isPlainCharge({ postings, skipRejected }: PostingGroup): boolean {
  return (
    skipRejected !== true &&
    postings.every(({ kind, decisionId }) => kind === 'charge' && decisionId === null)
  );
}

/** Returns the number of holds that a group opens if it is accepted. */
export function holdsOpenedBy({ postings }: PostingGroup): number {
  let opened = 0;
  for (const { kind } of postings) {
    opened += kind === 'open' ? 1 : 0;
  }
  return opened;
}

export interface Posted<Run = unknown> {
  readonly kind: 'posted';
  readonly orgId: string;
  readonly posting: Posting<Run>;
  /** The scope of the posting. With a hold, it is the scope of the hold, completed by that of the posting (`settledScope`). */
  readonly scope: Scope;
  readonly chargedAtMs: number;
  readonly postedAtMs: number;
  readonly marks: readonly Mark[];
  /** The hold that is open after this posting, if any. */
  readonly hold: Hold | null;
  /**
   * For `open`: the smallest amount in nanodollars that the cost limits still allow after the posting; undefined if no cost limit
   * applies.
   */
  readonly remainingNanos?: bigint | undefined;
  /** For `open`: the limit of cost that is used most; undefined if none applies. */
  readonly fullest?: LimitUse | undefined;
  /** Null if nothing was charged. */
  readonly charged: PendingSettlement | null;
  /**
   * The fail-open decision that the posting settles although the ledger has no hold for it. Its end is stored, so that neither its
   * import nor another run can use it.
   */
  readonly settledUnheld: Hold | null;
}

export type Mark =
  | 'over_hold'
  | 'late'
  | 'degraded'
  | 'backfill'
  | 'unpriced'
  | 'usage_missing'
  | 'unsettled'
  /** The provider did not report the usage; the posted usage is an upper bound. */
  | 'usage_estimated'
  /** The response was cut short, because a limit did not allow more. */
  | 'truncated';

export type Outcome<Run = unknown> =
  | Posted<Run>
  /** A run with this `externalId` exists already. */
  | { readonly kind: 'existing'; readonly posting: Posting<Run>; readonly runId: string }
  /** Only in a group with `skipRejected`. */
  | { readonly kind: 'rejected'; readonly posting: Posting<Run>; readonly rejection: PostingRejection };

export type PostingRejection =
  | { readonly kind: 'denied'; readonly index: number; readonly denial: Denial }
  /** The permit was used up, was withdrawn or has expired. */
  | { readonly kind: 'permit_spent'; readonly index: number }
  | { readonly kind: 'unknown_decision'; readonly index: number }
  | { readonly kind: 'settled_already'; readonly index: number }
  /** A run with this `externalId` exists already and has different content. */
  | { readonly kind: 'external_id_conflict'; readonly index: number }
  /** A field of the run differs from the decision that it names. */
  | { readonly kind: 'contradiction'; readonly index: number; readonly field: string };

export type GroupResult<Run = unknown> =
  | { readonly kind: 'done'; readonly outcomes: readonly Outcome<Run>[] }
  | PostingRejection;
