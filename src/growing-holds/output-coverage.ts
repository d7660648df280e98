/**
 * Keeps the hold of a stream ahead of its output (`hold: expected`). The hold starts with the expected output, and is increased
 * before more output than it covers is sent to the client.
 */
import { inFlightTokens } from '../kernel/providers/call-end.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { StreamCoverage } from './stream-coverage.ts';

export interface OutputCoverageOptions {
  /** Output that the hold covers from its admission on. */
  readonly heldTokens: number;
  readonly maxOutputTokens: number;
  /** Increases the hold by this many output tokens. Resolves to false if a limit denies that. */
  increase(tokens: number): Promise<boolean>;
}

/** The hold is increased when less than this part of it is left, so that the stream rarely waits for it. */
const aheadShare = 0.25;
const stepTokensMin = 1_024;
const stepTokensLeast = 64;
/** After a denied increase, the next attempt is for this part of it. */
const smallerShare = 0.25;

export function coverOutput(
  usage: StreamUsage,
  { heldTokens, maxOutputTokens, increase }: OutputCoverageOptions,
): StreamCoverage {
  let held = heldTokens;
  let inFlight: Promise<boolean> | undefined;
  /** True once even the smallest increase was denied. No more is then requested in advance. */
  let isExhausted = false;

  /** Doubles the hold. If a limit denies that, increases it by less. */
  async function grow(): Promise<boolean> {
    const most = Math.min(maxOutputTokens - held, Math.max(stepTokensMin, held));
    const least = Math.min(most, Math.max(stepTokensLeast, neededTokens(usage, maxOutputTokens) - held));
    let isIncreased = false;
    for (let step = most; !isIncreased && step >= least; step = smallerStep(step, least)) {
      isIncreased = await increase(step);
      held += isIncreased ? step : 0;
    }
    isExhausted = !isIncreased;
    inFlight = undefined;
    return isIncreased;
  }

  /** Increases the hold until the output is covered. */
  async function growToCover(): Promise<boolean> {
    while (neededTokens(usage, maxOutputTokens) > held) {
      inFlight ??= grow();
      if (!(await inFlight)) {
        return false;
      }
    }
    return true;
  }

  return {
    cover() {
      const needed = neededTokens(usage, maxOutputTokens);
      if (needed > held) {
        return growToCover();
      }
      if (!isExhausted && held < maxOutputTokens && needed > held * (1 - aheadShare)) {
        inFlight ??= grow();
      }
      return undefined;
    },
    heldTokens: () => held,
  };
}

/** Returns the next smaller step. The smallest step is the last one, followed by 0. */
function smallerStep(step: number, least: number): number {
  return step === least ? 0 : Math.max(least, Math.floor(step * smallerShare));
}

/**
 * Returns the output that the hold must cover: what was received and what is in flight, because both are charged if the stream is
 * ended. No response has more tokens than its maximum. A response that hides its reasoning may have all of them.
 */
function neededTokens(usage: StreamUsage, maxOutputTokens: number): number {
  return usage.isReasoningHidden
    ? maxOutputTokens
    : Math.min(usage.outputBound + inFlightTokens, maxOutputTokens);
}
