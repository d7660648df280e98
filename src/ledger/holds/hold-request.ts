/** The request for a hold, its results, and how holds are listed and changed. */
import type { ApplicableCounters, Surface } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import type { Amounts, Scope } from '../../kernel/limits.ts';
import type { Hold } from './hold.ts';
import type { Replay, RequestKey } from './hold-keys.ts';

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
  readonly applicable: ApplicableCounters;
  /** What is left of each counter that it met, with this hold taken. */
  readonly left: readonly bigint[];
  /** The response that the key of the request keeps, where it has one. */
  readonly response?: string;
}

export type HoldResult = Held | { readonly kind: 'denied'; readonly denial: Denial } | Replay;

/** What somebody might ask for: held against the limits, and not taken. */
export type AdmissionPreview = Pick<HoldRequest, 'scope' | 'amounts' | 'surface'>;

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

export const holdSecondsMax = 86_400;
