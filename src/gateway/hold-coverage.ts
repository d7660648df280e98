/**
 * Keeps the hold of a stream ahead of its output (`hold: expected`). The hold starts with the expected output, and is increased
 * before more output than it covers is sent to the client.
 */

import { inFlightTokens } from '../kernel/providers/call-end.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { AdmittedCall } from './admit-call.ts';
import type { CallPlan } from './plan-call.ts';
import type { StreamCoverage } from './stream-coverage.ts';

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
) => Promise<boolean>;

/** The hold is increased when less than this part of it is left, so that the stream rarely waits for it. */
const aheadShare = 0.25;
const stepTokensMin = 1_024;
const stepTokensLeast = 64;
/** After a denied increase, the next attempt is for this part of it. */
const smallerShare = 0.25;

export function createHoldCoverage(increase: IncreaseCallHold): HoldCoverage {
  return ({ orgId, plan, admitted }, usage) => {
    if (coversOutput(plan, admitted)) {
      return undefined;
    }
    let held = admitted.maxOutputTokens;
    let inFlight: Promise<boolean> | undefined;
    /** True once even the smallest increase was denied. No more is then requested in advance. */
    let isExhausted = false;

    /** Doubles the hold. If a limit denies that, increases it by less. */
    async function grow(): Promise<boolean> {
      const most = Math.min(plan.maxOutputTokens - held, Math.max(stepTokensMin, held));
      const least = Math.min(most, Math.max(stepTokensLeast, neededTokens(usage, plan) - held));
      let isIncreased = false;
      for (let step = most; !isIncreased && step >= least; step = smallerStep(step, least)) {
        isIncreased = await increase(orgId, admitted.decisionId, { output_tokens: step });
        held += isIncreased ? step : 0;
      }
      isExhausted = !isIncreased;
      inFlight = undefined;
      return isIncreased;
    }

    /** Increases the hold until the output is covered. */
    async function growToCover(): Promise<boolean> {
      while (neededTokens(usage, plan) > held) {
        inFlight ??= grow();
        if (!(await inFlight)) {
          return false;
        }
      }
      return true;
    }

    return {
      cover() {
        const needed = neededTokens(usage, plan);
        if (needed > held) {
          return growToCover();
        }
        if (!isExhausted && held < plan.maxOutputTokens && needed > held * (1 - aheadShare)) {
          inFlight ??= grow();
        }
        return undefined;
      },
      heldTokens: () => held,
    };
  };
}

/** Returns the next smaller step. The smallest step is the last one, followed by 0. */
function smallerStep(step: number, least: number): number {
  return step === least ? 0 : Math.max(least, Math.floor(step * smallerShare));
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
export function growsWithOutput({ settings, call, showsOutput, learnedModel }: CallPlan): boolean {
  return settings.hold === 'expected' && call.isStream && showsOutput && learnedModel === undefined;
}

/**
 * Returns the output that the hold must cover: what was received and what is in flight, because both are charged if the stream is
 * ended. No response has more tokens than its maximum. A response that hides its reasoning may have all of them.
 */
function neededTokens(usage: StreamUsage, { maxOutputTokens }: CallPlan): number {
  return usage.isReasoningHidden
    ? maxOutputTokens
    : Math.min(usage.outputBound + inFlightTokens, maxOutputTokens);
}
