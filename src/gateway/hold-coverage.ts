/**
 * Keeps the hold of a stream ahead of its output (`hold: expected`): the hold starts with the expected output and is increased
 * before more than it covers is passed on.
 */
import type { AdmittedCall } from './admit-call.ts';
import type { CallPlan } from './plan-call.ts';
import type { StreamUsage } from './usage/stream-usage.ts';

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

/** Increases a hold. Returns false if a limit denies it or the ledger is away. */
export type IncreaseHold = (
  orgId: string,
  decisionId: string,
  by: { readonly output_tokens: number } | { readonly cost_usd: string; readonly tokens: number },
) => Promise<boolean>;

/** The hold is increased when this many tokens are left, so that the stream rarely waits for it. */
const aheadTokens = 2_048;
const stepTokensMin = 512;
const stepTokensLeast = 64;

export function createHoldCoverage(increase: IncreaseHold): HoldCoverage {
  return ({ orgId, plan, admitted }, usage) => {
    if (admitted.runId === null || admitted.maxOutputTokens >= plan.maxOutputTokens || !isGrowing(plan)) {
      return undefined;
    }
    let held = admitted.maxOutputTokens;
    let inFlight: Promise<boolean> | undefined;
    /** True once not even the smallest increase was possible: no more is requested ahead of the output. */
    let isExhausted = false;

    /** Increases by as much as is held, or by half as much each time that a limit denies it. */
    async function grow(): Promise<boolean> {
      const most = Math.min(plan.maxOutputTokens - held, Math.max(stepTokensMin, held));
      let isIncreased = false;
      for (
        let step = most;
        !isIncreased && step >= Math.min(most, stepTokensLeast);
        step = Math.floor(step / 2)
      ) {
        isIncreased = await increase(orgId, admitted.decisionId, { output_tokens: step });
        held += isIncreased ? step : 0;
      }
      isExhausted = !isIncreased;
      inFlight = undefined;
      return isIncreased;
    }

    /** Increases until the output is covered. */
    async function growToCover(): Promise<boolean> {
      while (boundOf(usage, plan) > held) {
        inFlight ??= grow();
        if (!(await inFlight)) {
          return false;
        }
      }
      return true;
    }

    return {
      cover() {
        const bound = boundOf(usage, plan);
        if (bound > held) {
          return growToCover();
        }
        if (!isExhausted && bound + aheadTokens > held && held < plan.maxOutputTokens) {
          inFlight ??= grow();
        }
        return undefined;
      },
      heldTokens: () => held,
    };
  };
}

/** True if the maximum in the body is that of the plan, and not that of the first hold. */
export function isGrowing({ settings }: CallPlan): boolean {
  return settings.hold === 'expected';
}

/** A token has at least one byte, and no response has more tokens than its maximum. */
function boundOf({ outputBytes }: StreamUsage, { maxOutputTokens }: CallPlan): number {
  return Math.min(outputBytes, maxOutputTokens);
}
