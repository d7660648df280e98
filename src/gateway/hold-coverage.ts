/** Says which calls have a hold that starts with the expected output and grows with it (`hold: expected`). */
import { coverOutput } from '../growing-holds/output-coverage.ts';
import type { StreamCoverage } from '../growing-holds/stream-coverage.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { HoldIncrease } from '../ledger/holds/hold-request.ts';
import type { AdmittedCall } from './admit-call.ts';
import { type CallPlan, isStreamed } from './plan-call.ts';

export interface CoveredCall {
  readonly orgId: string;
  readonly plan: CallPlan;
  readonly admitted: AdmittedCall;
}

/** Starts to cover a stream. Returns undefined if the hold covers the whole output already. */
export type HoldCoverage = (call: CoveredCall, usage: StreamUsage) => StreamCoverage | undefined;

/** Increases a hold. Returns false if a limit denies it or the ledger is unavailable. */
export type IncreaseCallHold = (
  orgId: string,
  decisionId: string,
  by: { readonly output_tokens: number } | { readonly cost_usd: string; readonly tokens: number },
  more?: Pick<HoldIncrease, 'growth' | 'attemptMaxNanos'>,
) => Promise<boolean>;

export function createHoldCoverage(increase: IncreaseCallHold): HoldCoverage {
  return ({ orgId, plan, admitted }, usage) =>
    coversOutput(plan, admitted)
      ? undefined
      : coverOutput(usage, {
          heldTokens: admitted.maxOutputTokens,
          maxOutputTokens: plan.maxOutputTokens,
          increase: (tokens) => increase(orgId, admitted.decisionId, { output_tokens: tokens }),
        });
}

/** Returns true if the first hold covers the whole output or never grows. */
export function coversOutput(plan: CallPlan, { runId, maxOutputTokens }: AdmittedCall): boolean {
  return runId === null || maxOutputTokens >= plan.maxOutputTokens || !growsWithOutput(plan);
}

/** Returns the output maximum of the request: the held maximum, or the planned one if the hold grows. */
export function outputCap(plan: CallPlan, admitted: AdmittedCall): number {
  const grows = growsWithOutput(plan) || plan.paced !== undefined;
  return grows ? plan.maxOutputTokens : admitted.maxOutputTokens;
}

/**
 * Returns true if the hold starts with the expected output and grows. That only works for output that is streamed and visible. The
 * model of a deployment may have changed, so its output is held in full.
 */
export function growsWithOutput(plan: CallPlan): boolean {
  const { settings, showsOutput, learnedModel } = plan;
  return settings.hold === 'expected' && isStreamed(plan) && showsOutput && learnedModel === undefined;
}
