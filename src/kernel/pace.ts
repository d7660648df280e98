/**
 * Bounds the output of a call by its duration, visible or not, so that a hold can follow the time that the call has been running. A
 * model is fast for a moment and slower over a long answer, hence two rates.
 */

/** The fastest that a model generates one answer. All numbers are integers. */
export interface Pace {
  readonly burstTokensPerSecond: number;
  /** Tokens that the burst may add to what the sustained rate generates. */
  readonly burstTokens: number;
  readonly sustainedTokensPerSecond: number;
}

export interface PacedOutput {
  readonly pace: Pace;
  /** Maximum of all answers together. */
  readonly maxOutputTokens: number;
  /** Alternative answers, which are generated in parallel. */
  readonly answers: number;
}

const msPerSecond = 1_000;

/** Returns the output tokens that a call can have generated after this time: never fewer after a longer time. */
export function tokensWithin({ pace, maxOutputTokens, answers }: PacedOutput, elapsedMs: number): number {
  const ms = Math.max(0, Math.ceil(elapsedMs));
  const burst = tokensAt(pace.burstTokensPerSecond, ms);
  const sustained = pace.burstTokens + tokensAt(pace.sustainedTokensPerSecond, ms);
  return Math.min(maxOutputTokens, answers * Math.min(burst, sustained));
}

/** Returns the output tokens that a hold is increased by in this time, if it covers this many already. */
export function tokensToGrow(
  { pace, maxOutputTokens, answers }: PacedOutput,
  heldTokens: number,
  seconds: number,
): number {
  return Math.max(
    0,
    Math.min(maxOutputTokens - heldTokens, answers * pace.sustainedTokensPerSecond * seconds),
  );
}

/** Rounds up: a token that was begun is charged. */
function tokensAt(perSecond: number, ms: number): number {
  return Math.ceil((perSecond * ms) / msPerSecond);
}

/** Returns a pace that is at least as fast as each of these. */
export function fastestPace(first: Pace, others: readonly Pace[]): Pace {
  return others.reduce(
    (fastest, one) => ({
      burstTokensPerSecond: Math.max(fastest.burstTokensPerSecond, one.burstTokensPerSecond),
      burstTokens: Math.max(fastest.burstTokens, one.burstTokens),
      sustainedTokensPerSecond: Math.max(fastest.sustainedTokensPerSecond, one.sustainedTokensPerSecond),
    }),
    first,
  );
}
