import type { Denial } from '../kernel/denial.ts';
import type { Scope } from '../kernel/limits.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { Renaming } from './holds/customer-pseudonyms.ts';
import type { Hold } from './holds/hold.ts';
import type { HoldImport, ImportedHold } from './holds/hold-import.ts';
import type { Replay, RequestKey } from './holds/hold-keys.ts';
import type {
  AdmissionPreview,
  Held,
  HoldChange,
  HoldIncrease,
  HoldQuery,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from './holds/hold-request.ts';
import type { LimitUsage } from './limits/limit-usage.ts';
import type { GroupResult, PostingGroup } from './posting.ts';

/** The current amounts of a counter, for reconciliation with the ledger entries. */
export interface CounterState {
  readonly key: string;
  readonly settled: bigint;
  readonly held: bigint;
}

export interface InspectedCounter extends CounterState {
  /** What the open holds of the counter are expected to be increased by soon. */
  readonly growth: bigint;
}

export interface LedgerStats {
  readonly openHolds: number;
  readonly overdueHolds: number;
  readonly oldestOverdueMs: number;
  readonly waiting: number;
}

/** A decision whose hold exists in memory. The response may be sent once `durable` resolves. */
export interface DecidedHold {
  readonly held: Held;
  readonly durable: Promise<void>;
}

export interface Ledger<Run = unknown> {
  readonly reads: LedgerReads;
  readonly expiry: LedgerExpiry;
  readonly maintenance: LedgerMaintenance;
  /** Decides synchronously if all needed state is in memory; returns undefined otherwise, and the caller must use `hold`. */
  decide(request: HoldRequest): DecidedHold | Exclude<HoldResult, Held> | undefined;
  /** Takes a hold in all applicable limits, or denies. With `fit` it takes the largest hold that all limits allow. */
  hold(request: HoldRequest): Promise<HoldResult>;
  /** Returns the response stored under an idempotency key, even after its hold has ended; undefined if the key was not used. */
  replay(orgId: string, key: RequestKey): Promise<Replay | undefined>;
  /**
   * Returns for each preview the denial that it would get now if it were the only request; undefined if it would be allowed.
   * Reserves nothing.
   */
  previewDenials(orgId: string, previews: readonly AdmissionPreview[]): Promise<(Denial | undefined)[]>;
  /**
   * Adds the holds of fail-open decisions of one org regardless of the limits, in the order of the request. Idempotent
   * by the id of each hold.
   */
  importHolds(request: HoldImport): Promise<ImportedHold[]>;
  post(group: PostingGroup<Run>): Promise<GroupResult<Run>>;
  void(orgId: string, holdId: string): Promise<HoldChange>;
  /** Extends the expiry, at most to one day after the admission. */
  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange>;
  /**
   * Raises the amounts of an open hold in all limits that apply to it now, or denies and changes nothing. The windows are those of
   * the hold's admission. A repeated request id has no effect.
   */
  increase(orgId: string, holdId: string, increase: HoldIncrease): Promise<IncreaseResult>;
  close(): Promise<void>;
}

/** Open holds and the usage of limits. */
export interface LedgerReads {
  /** Lists open holds by id, which starts with the time of its creation: oldest first, or newest first on request. */
  holds(orgId: string, query: HoldQuery): Promise<Hold[]>;
  findHold(orgId: string, holdId: string): Promise<Hold | undefined>;
  /** Returns the open holds of all orgs if this process has them in memory; undefined if they are only in the database. */
  holdsInMemory(): Hold[] | undefined;
  /**
   * Returns the current usage of these limits. Limits without a counter of their own (rates, chain depth,
   * wildcards) are left out.
   */
  limitUsage(orgId: string, limitIds: readonly string[]): Promise<LimitUsage[]>;
  /** Returns the current usage of a limit with wildcards for each of the scopes, in the order of `scopes`. */
  limitUsageIn(orgId: string, limitId: string, scopes: readonly Scope[]): Promise<LimitUsage[]>;
  /**
   * Returns a consistent snapshot of the counters and open holds of an org, with no change in flight, and the result of `read`,
   * which runs within the same snapshot.
   */
  inspect<Result>(orgId: string, read: InspectRead<Result>): Promise<Inspection<Result>>;
}

/** Ends holds that are overdue. */
export interface LedgerExpiry {
  /** Expires one batch of overdue holds, with at most one small transaction per org. Returns true if there may be more. */
  expireDue(): Promise<boolean>;
  /** Time to wait before the next batch of a backlog, so that decisions can run in between. */
  restMs(): number;
}

/** Erasure, eviction, and monitored figures. */
export interface LedgerMaintenance {
  /**
   * Renames a customer in open holds and deletes the counters under both names: in the transaction of `change` on
   * PostgreSQL, in memory after its commit on the embedded engine. `change` must increment the version of the limits.
   */
  renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<void>;
  /**
   * Sums the growth of the counters of an org from its open holds again. Processes of an earlier release end holds without it, and a
   * growth that is too large would deny calls.
   */
  recountGrowth(orgId: string): Promise<void>;
  /** Evicts unused counters; on PostgreSQL only one batch of them. Returns true if there may be more. */
  evictCounters(): Promise<boolean>;
  stats(): LedgerStats;
  /**
   * Returns how far the time of the ledger is ahead of the clock, because the clock was wrong before; 0 if it is not ahead. On
   * PostgreSQL this is the time of the org that is furthest ahead.
   */
  clockAheadMs(): Promise<number>;
}

export type InspectRead<Result> = (tx: Transaction) => Promise<Result>;

export interface Inspection<Result> {
  readonly counters: readonly InspectedCounter[];
  readonly holds: readonly Hold[];
  readonly result: Result;
}
