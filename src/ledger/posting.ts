/** What is asked of the books, and what becomes of it. */
import type { Denial } from '../kernel/denial.ts';
import type { Amounts, Scope } from '../kernel/limits.ts';
import type { PendingSettlement } from '../kernel/settlement.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { Hold } from './holds/hold.ts';

/** What a run has measured, for its row and for usage. */
export interface RunUsage {
  readonly status: string;
  readonly inputTokens: bigint;
  readonly cachedInputTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly outputTokens: bigint;
  /** Null where nobody said. */
  readonly valueNanos: bigint | null;
  /** Null where nobody said. */
  readonly latencyMs: bigint | null;
  readonly tags: Tags | null;
}

export interface Posting<Run = unknown> {
  readonly kind: /** A new run that is finished: its hold is settled, or it is admitted and settled at once. */
    | 'charge'
    /** A new run that goes on: admitted, its estimate is held. */
    | 'open'
    /** A new run that goes on under a hold that exists. */
    | 'adopt'
    /** History, past the gates, at an instant of its own. */
    | 'record'
    /** The end of a run that was opened or adopted. */
    | 'complete'
    /** A correction of a run that is posted. */
    | 'adjust';
  readonly runId: string;
  readonly externalId: string | null;
  /** Of what the caller said. Another run with the same `externalId` and another digest is refused; null compares with none. */
  readonly contentDigest?: string | null;
  /** Of the ledger entry that this becomes. */
  readonly entryId: string;
  readonly scope: Scope;
  readonly depth: number;
  /** What it takes: really, or for `open` at most. A correction's usd may be below zero. */
  readonly amounts: Amounts;
  /** The hold that it settles or goes on under; for `open`, the id of the one that is made. */
  readonly decisionId: string | null;
  readonly holdSeconds: number;
  /** For `record` and `adjust`: the instant that the charge belongs to. Of `complete`: where its hold is gone. */
  readonly atMs: number | null;
  readonly priceVersion: string | null;
  readonly usage: RunUsage;
  /** Why it is corrected. */
  readonly note?: string;
  /** What it needs to pass, and uses up once if it does. */
  readonly permit?: string;
  /** For whoever stores it. */
  readonly run: Run;
}

/** All of its postings or none. */
export interface PostingGroup<Run = unknown> {
  readonly orgId: string;
  readonly postings: readonly Posting<Run>[];
  /** Keeps the answer in the transaction that makes it true. Throws when that must not be. */
  seal?(tx: Transaction, posted: readonly Outcome<Run>[]): Promise<void>;
}

export interface Posted<Run = unknown> {
  readonly kind: 'posted';
  readonly orgId: string;
  readonly posting: Posting<Run>;
  /** With what the hold knows and the caller left out. */
  readonly scope: Scope;
  readonly chargedAtMs: number;
  readonly postedAtMs: number;
  readonly marks: readonly Mark[];
  /** The hold that is open now, if one is. */
  readonly hold: Hold | null;
  /** Null where nothing was charged. */
  readonly charged: PendingSettlement | null;
}

export type Mark = 'over_hold' | 'late' | 'degraded' | 'backfill';

export type Outcome<Run = unknown> =
  | Posted<Run>
  /** The caller's own id was used before: this is that run. */
  | { readonly kind: 'known'; readonly posting: Posting<Run>; readonly runId: string };

export type PostingRejection =
  | { readonly kind: 'denied'; readonly index: number; readonly denial: Denial }
  /** Its permit was used up or withdrawn before this could use it. */
  | { readonly kind: 'permit_spent'; readonly index: number }
  | { readonly kind: 'unknown_decision'; readonly index: number }
  | { readonly kind: 'settled_already'; readonly index: number }
  /** The caller's own id was used before, for a run with other content. */
  | { readonly kind: 'external_id_conflict'; readonly index: number }
  /** The run says something else than the decision it names. */
  | { readonly kind: 'contradiction'; readonly index: number; readonly field: string };

export type GroupResult<Run = unknown> =
  | { readonly kind: 'done'; readonly outcomes: readonly Outcome<Run>[] }
  | PostingRejection;

/** The tags of a run: names and values. */
export type Tags = Readonly<Record<string, string>>;
