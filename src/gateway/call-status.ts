/** The status of a call in progress for the list of calls. It contains no content. */
import { worstCaseOutputCost } from '../kernel/prices.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { outputCap } from './hold-coverage.ts';

export const callStates = ['waiting', 'streaming', 'draining', 'settling'] as const;
export type CallState = (typeof callStates)[number];

export interface CallStatus {
  readonly orgId: string;
  readonly decisionId: string;
  /** Null for a call that was allowed while the ledger was unavailable. */
  readonly runId: string | null;
  readonly keyId: string;
  readonly memberId: string | null;
  readonly startedAt: Date;
  readonly operation: string;
  readonly isStream: boolean;
  readonly model: string;
  /** The connection of the last attempt; undefined before the first one. */
  readonly connection: { readonly id: string; readonly name: string } | undefined;
  readonly attempts: number;
  readonly state: CallState;
  readonly heldNanos: bigint;
  /** Input tokens: the upper bound that was held. */
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** Upper bound of the output tokens that were received so far. */
  readonly outputBound: number;
  /** Output tokens that the provider has reported; null until it reports them. */
  readonly outputTokens: number | null;
}

/** The state of the call since its admission. */
export interface CallProgress extends Pick<CallStatus, 'state' | 'connection' | 'attempts'> {
  /** Output tokens that a growing hold covers now. */
  readonly heldTokens: number | undefined;
  /** Usage of the streamed response; undefined before it starts. */
  readonly usage: StreamUsage | undefined;
}

export function statusOf(
  { caller, request, operation, plan, admitted }: AdmittedRequest,
  { state, connection, attempts, heldTokens = admitted.maxOutputTokens, usage }: CallProgress,
): CallStatus {
  const addedTokens = BigInt(Math.max(0, heldTokens - admitted.maxOutputTokens));
  return {
    orgId: caller.tenantId,
    decisionId: admitted.decisionId,
    runId: admitted.runId,
    keyId: caller.keyId,
    memberId: caller.attribution?.values.member_id ?? null,
    startedAt: request.now,
    operation: operation.format.name,
    isStream: plan.call.isStream,
    model: plan.model,
    connection,
    attempts,
    state,
    heldNanos: admitted.heldNanos + worstCaseOutputCost(plan.service.rates, addedTokens),
    inputTokens: plan.inputTokens,
    maxOutputTokens: outputCap(plan, admitted),
    outputBound: usage?.outputBound ?? 0,
    outputTokens: usage?.isFinal === true ? (usage.usage()?.outputTokens ?? null) : null,
  };
}
