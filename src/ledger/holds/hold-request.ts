/** Requests for holds and their results, and the queries and changes of holds. */
import type { ApplicableCounters, HoldSurface } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import type { Fit } from '../../kernel/fit.ts';
import type { LimitUse } from '../../kernel/limit-use.ts';
import type { Amounts, Scope } from '../../kernel/limits.ts';
import type { HeldService, Hold, UnwatchedCost } from './hold.ts';
import type { Replay, RequestKey } from './hold-keys.ts';

export interface HoldRequest {
  readonly orgId: string;
  readonly surface: HoldSurface;
  readonly scope: Scope;
  /** For a request with `fit`: the amounts of the largest hold. */
  readonly amounts: Amounts;
  /** Present if a smaller hold is acceptable. The ledger then takes the largest hold that all limits allow. */
  readonly fit?: Fit;
  readonly holdSeconds: number;
  readonly priceVersion: string | null;
  /** Present if the rates of the price depend on the service. */
  readonly service?: HeldService;
  /** Present if the request has an `Idempotency-Key`. */
  readonly key?: RequestKey & { responseOf(held: Held): string };
  /** Present if this service itself makes the call. */
  readonly call?: HeldCall;
}

/**
 * A call whose run is created at its settlement. If the call is never settled, the held amount is posted, because the call was made. It
 * leaves the growth of the calls in progress free, whether it grows itself or not.
 */
export interface HeldCall {
  readonly holdId: string;
  /** Depth of the run in its chain. */
  readonly depth: number;
  readonly goesOn?: UnwatchedCost | undefined;
  /** Amounts by which the hold is expected to be increased soon. */
  readonly growth?: Amounts | undefined;
}

export interface Held {
  readonly kind: 'held';
  readonly hold: Hold;
  readonly applicable: ApplicableCounters;
  /** The remaining amount of each applicable counter, after this hold. */
  readonly remaining: readonly bigint[];
  /** For a gateway call: the limit of cost that is used most; undefined if none applies. */
  readonly fullest?: LimitUse | undefined;
  /** The response stored under the idempotency key of the request, if it has one. */
  readonly response?: string;
}

export type HoldResult = Held | { readonly kind: 'denied'; readonly denial: Denial } | Replay;

/** A request that is checked against the limits without reserving anything. */
export type AdmissionPreview = Pick<HoldRequest, 'scope' | 'amounts' | 'surface'>;

export interface HoldQuery {
  readonly limit: number;
  /** Id of the last hold on the previous page, in the same sort order. */
  readonly after: string | undefined;
  /** Default: oldest first. */
  readonly newestFirst?: boolean;
}

export type HoldChange =
  | { readonly kind: 'changed'; readonly hold: Hold }
  | { readonly kind: 'unknown' }
  /** The hold has ended, or is being ended. */
  | { readonly kind: 'ended' };

export interface HoldIncrease {
  /** The amounts to add. */
  readonly by: Amounts;
  /** Identifies the request. Retries have the same id, so that they have no second effect. Null: the request is not idempotent. */
  readonly requestId: string | null;
  /** The growth after the increase. Left out if it stays the same. */
  readonly growth?: Amounts | undefined;
  /** The maximum cost of the attempt that the increase is for. Left out if it is for the attempt in progress. */
  readonly attemptMaxNanos?: bigint | undefined;
}

export type IncreaseResult =
  | HoldChange
  /** Nothing was changed. */
  | { readonly kind: 'denied'; readonly denial: Denial }
  /** The new amount exceeds the largest amount. Nothing was changed. */
  | { readonly kind: 'out_of_range' };

export const holdSecondsMax = 86_400;
