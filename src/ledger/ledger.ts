/**
 * The ledger seam: who may spend, and what was spent. Two implementations honour it, held to one conformance suite
 * (`conformance.test.ts`): embedded (memory, holds durable in a log) and PostgreSQL (exact from any number of processes).
 *
 * No admission makes settled + held exceed a limit; all limits of a charge are taken or none. A hold ends once: settled,
 * voided or expired. What cannot be answered now is a `DatabaseUnavailable`, never an allow.
 */
import type { Meeting, Surface } from '../kernel/admission.ts';
import type { Denial } from '../kernel/denial.ts';
import type { Amounts, Scope } from '../kernel/limits.ts';
import type { Renaming } from './holds/customer-pseudonyms.ts';
import type { Hold } from './holds/hold.ts';
import type { Replay, RequestKey } from './holds/hold-keys.ts';
import type { Standing } from './limits/limit-usage.ts';
import type { BookingGroup, GroupResult } from './posting.ts';

export interface HoldRequest {
  readonly orgId: string;
  readonly surface: Exclude<Surface, 'record'>;
  readonly scope: Scope;
  readonly amounts: Amounts;
  readonly holdSeconds: number;
  readonly priceVersion: string | null;
  /** Where an `Idempotency-Key` came along. */
  readonly key?: RequestKey & { answerOf(held: Held): string };
}

export interface Held {
  readonly kind: 'held';
  readonly hold: Hold;
  readonly meeting: Meeting;
  /** What is left of each counter that it met, with this hold taken. */
  readonly left: readonly bigint[];
  /** The response that the key of the request keeps, where it has one. */
  readonly answer?: string;
}

export type HoldResult = Held | { readonly kind: 'denied'; readonly denial: Denial } | Replay;

/** What somebody might ask for: held against the limits, and not taken. */
export type Look = Pick<HoldRequest, 'scope' | 'amounts' | 'surface'>;

export interface HoldQuery {
  readonly limit: number;
  /** The last hold of the page before, in the same order. */
  readonly after: string | undefined;
  /** Default: oldest first. */
  readonly newestFirst?: boolean;
}

export type HoldChange =
  | { readonly kind: 'changed'; readonly hold: Hold }
  | { readonly kind: 'unknown' }
  /** It ended already, or is just ending. */
  | { readonly kind: 'ended' };

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
export interface Decided {
  readonly held: Held;
  readonly durable: Promise<void>;
}

export interface Ledger<Run = unknown> {
  /** Decides without waiting for anything, where it can; undefined: ask `hold`. */
  decide(request: HoldRequest): Decided | Exclude<HoldResult, Held> | undefined;
  hold(request: HoldRequest): Promise<HoldResult>;
  /** The response to a key that was used before, also after its hold has ended; undefined where it was not. */
  replay(orgId: string, key: RequestKey): Promise<Replay | undefined>;
  /** What would refuse each of them at this moment, in their order, were it alone; undefined: nothing. Takes nothing. */
  look(orgId: string, looks: readonly Look[]): Promise<(Denial | undefined)[]>;
  /** Takes a hold that was given while nobody could be asked, whatever the limits say. Once, however often it is asked. */
  adopt(hold: Hold): Promise<void>;
  book(group: BookingGroup<Run>): Promise<GroupResult<Run>>;
  void(orgId: string, holdId: string): Promise<HoldChange>;
  /** Moves the expiry. At most a day after the admission. */
  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange>;
  /** Open holds, in the order of their ids, which is that of their admission. */
  holds(orgId: string, query: HoldQuery): Promise<Hold[]>;
  findHold(orgId: string, holdId: string): Promise<Hold | undefined>;
  /** Where these limits of the org stand now. Those without a standing of their own are left out. */
  standings(orgId: string, limitIds: readonly string[]): Promise<Standing[]>;
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
  tidy(): Promise<boolean>;
  stats(): LedgerStats;
  close(): Promise<void>;
}

export type InspectRead<Result> = (tx: import('../platform/db/database.ts').Transaction) => Promise<Result>;

export interface Inspection<Result> {
  readonly counters: readonly CounterState[];
  readonly holds: readonly Hold[];
  readonly result: Result;
}

export const holdSecondsMax = 86_400;
