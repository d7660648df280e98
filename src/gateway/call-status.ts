/** The status of a call in progress, as the list of calls shows it. It has no content. */
import type { Shape } from './usage/call-usage.ts';

export const callStates = ['waiting', 'streaming', 'draining', 'settling'] as const;
export type CallState = (typeof callStates)[number];

export interface CallStatus {
  readonly orgId: string;
  readonly decisionId: string;
  /** Null for a call that was allowed while the ledger was away. */
  readonly runId: string | null;
  readonly keyId: string;
  readonly memberId: string | null;
  readonly startedAt: Date;
  readonly operation: Shape;
  readonly isStream: boolean;
  readonly model: string;
  /** The connection of the last attempt; undefined before the first one. */
  readonly connection: { readonly id: string; readonly name: string } | undefined;
  readonly attempts: number;
  readonly state: CallState;
  readonly heldNanos: bigint;
  /** An upper bound, as it was held. */
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** Upper bound of the output tokens that were received so far. */
  readonly outputBound: number;
  /** As the provider has reported; null before that. */
  readonly outputTokens: number | null;
}
