/** The status of a call in progress, as the list of calls shows it. It has no content. */
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
  /** An upper bound, as it was held. */
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** Upper bound of the output tokens that were received so far. */
  readonly outputBound: number;
  /** The number that the provider has reported; null until it reports one. */
  readonly outputTokens: number | null;
}

/** The state of the call since its admission. */
export interface CallProgress extends Pick<CallStatus, 'state' | 'connection' | 'attempts'> {
  /** The output that the hold covers now, if it grows. */
  readonly heldTokens: number | undefined;
  /** Undefined before a response is streamed. */
  readonly usage: StreamUsage | undefined;
}

export function statusOf(
  { caller, request, operation, plan, admitted }: AdmittedRequest,
  { state, connection, attempts, heldTokens = admitted.maxOutputTokens, usage }: CallProgress,
): CallStatus {
  const addedTokens = BigInt(heldTokens - admitted.maxOutputTokens);
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
