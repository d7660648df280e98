import type { Denial } from '../kernel/denial.ts';
import type { Renaming } from './holds/customer-pseudonyms.ts';
import type { Hold } from './holds/hold.ts';
import type { Replay, RequestKey } from './holds/hold-keys.ts';
import type {
  AdmissionPreview,
  Held,
  HoldChange,
  HoldQuery,
  HoldRequest,
  HoldResult,
} from './holds/hold-request.ts';
import type { LimitUsage } from './limits/limit-usage.ts';
import type { GroupResult, PostingGroup } from './posting.ts';

/** A counter as it stands, to be compared with the books. */
export interface CounterState {
  readonly key: string;
  readonly settled: bigint;
  readonly held: bigint;
}

export interface LedgerStats {
  readonly openHolds: number;
  readonly oldestHoldMs: number;
  readonly waiting: number;
}

/** A decision that is made; it may be told once it is durable. */
export interface DecidedHold {
  readonly held: Held;
  readonly durable: Promise<void>;
}

export interface Ledger<Run = unknown> {
  /** Decides without waiting for anything, where it can; undefined: ask `hold`. */
  decide(request: HoldRequest): DecidedHold | Exclude<HoldResult, Held> | undefined;
  hold(request: HoldRequest): Promise<HoldResult>;
  /** The response to a key that was used before, also after its hold has ended; undefined where it was not. */
  replay(orgId: string, key: RequestKey): Promise<Replay | undefined>;
  /** What would refuse each of them at this moment, in their order, were it alone; undefined: nothing. Takes nothing. */
  previewDenials(orgId: string, previews: readonly AdmissionPreview[]): Promise<(Denial | undefined)[]>;
  /** Takes a hold that was given while nobody could be asked, whatever the limits say. Once, however often it is asked. */
  importHold(hold: Hold): Promise<void>;
  post(group: PostingGroup<Run>): Promise<GroupResult<Run>>;
  void(orgId: string, holdId: string): Promise<HoldChange>;
  /** Moves the expiry. At most a day after the admission. */
  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange>;
  /** Open holds, in the order of their ids, which is that of their admission. */
  holds(orgId: string, query: HoldQuery): Promise<Hold[]>;
  findHold(orgId: string, holdId: string): Promise<Hold | undefined>;
  /** Where these limits of the org stand now. Those without a standing of their own are left out. */
  limitUsage(orgId: string, limitIds: readonly string[]): Promise<LimitUsage[]>;
  /** The counters of an org and its open holds at one moment, with nothing in flight. `read` runs in that moment. */
  inspect<Result>(orgId: string, read: InspectRead<Result>): Promise<Inspection<Result>>;
  /**
   * Calls a customer otherwise from now on, in open holds and wherever something is counted. `change` runs in that moment, and
   * has to change the limits' version with it.
   */
  renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: import('../platform/db/database.ts').Transaction) => Promise<void>,
  ): Promise<void>;
  /** One batch of holds that are past their time; true when there may be more. */
  expireDue(): Promise<boolean>;
  /** Forgets counters that nobody needs any more, one batch of them; true when there may be more. */
  evictCounters(): Promise<boolean>;
  stats(): LedgerStats;
  close(): Promise<void>;
}

export type InspectRead<Result> = (tx: import('../platform/db/database.ts').Transaction) => Promise<Result>;

export interface Inspection<Result> {
  readonly counters: readonly CounterState[];
  readonly holds: readonly Hold[];
  readonly result: Result;
}
