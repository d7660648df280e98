/**
 * Keeps the hold of a stream ahead of its output (`hold: expected`): the hold starts with the expected output and is increased
 * before more than it covers is passed on.
 */

import { inFlightTokens } from '../kernel/providers/call-end.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { AdmittedCall } from './admit-call.ts';
import type { CallPlan } from './plan-call.ts';

export interface CoveredCall {
  readonly orgId: string;
  readonly plan: CallPlan;
  readonly admitted: AdmittedCall;
}

export interface StreamCoverage {
  /** Called after each chunk. Returns undefined if the output is covered, else a promise of whether it could be covered. */
  readonly cover: () => Promise<boolean> | undefined;
  /** The output that the hold covers now. */
  heldTokens(): number;
}

/** Returns undefined if the hold covers the whole output already. */
export type HoldCoverage = (call: CoveredCall, usage: StreamUsage) => StreamCoverage | undefined;

/** Increases a hold. Returns false if a limit denies it or the ledger is unavailable. */
export type IncreaseCallHold = (
  orgId: string,
  decisionId: string,
  by: { readonly output_tokens: number } | { readonly cost_usd: string; readonly tokens: number },
) => Promise<boolean>;

/** The hold is increased when less than this share of it is left, so that the stream rarely waits for it. */
const aheadShare = 0.25;
const stepTokensMin = 1_024;
const stepTokensLeast = 64;
/** An increase that a limit denies is tried again with this share of it. */
const smallerShare = 0.25;

export function createHoldCoverage(increase: IncreaseCallHold): HoldCoverage {
  return ({ orgId, plan, admitted }, usage) => {
    if (coversOutput(plan, admitted)) {
      return undefined;
    }
    let held = admitted.maxOutputTokens;
    let inFlight: Promise<boolean> | undefined;
    /** True once not even the smallest increase was possible: no more is requested ahead of the output. */
    let isExhausted = false;

    /** Doubles the hold, or increases it by less if a limit denies that. */
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

    /** Increases until the output is covered. */
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

/** Returns the next smaller step, the least one last, and 0 after it. */
function smallerStep(step: number, least: number): number {
  return step === least ? 0 : Math.max(least, Math.floor(step * smallerShare));
}

/** True if the first hold covers the whole output, or is not increased. */
export function coversOutput(plan: CallPlan, { runId, maxOutputTokens }: AdmittedCall): boolean {
  return runId === null || maxOutputTokens >= plan.maxOutputTokens || !growsWithOutput(plan);
}

/** Returns the output maximum of the request: the held maximum or, if the hold grows, the planned maximum. */
export function outputCap(plan: CallPlan, admitted: AdmittedCall): number {
  return growsWithOutput(plan) ? plan.maxOutputTokens : admitted.maxOutputTokens;
}

/** True if the hold starts with the expected output and grows. It can follow only output that is streamed and shown. */
export function growsWithOutput({ settings, call, showsOutput }: CallPlan): boolean {
  return settings.hold === 'expected' && call.isStream && showsOutput;
}

/**
 * Returns the output that the hold must cover: what was received, and what is on its way, since both are charged if the stream is
 * ended. No response has more tokens than its maximum, and one that hides its reasoning may have all of them.
 */
function neededTokens(usage: StreamUsage, { maxOutputTokens }: CallPlan): number {
  return usage.isReasoningHidden
    ? maxOutputTokens
    : Math.min(usage.outputBound + inFlightTokens, maxOutputTokens);
}
