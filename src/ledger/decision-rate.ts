/** Measures the rate of edge decisions, so that background work can yield to them. */
import { performance } from 'node:perf_hooks';

export interface DecisionRate {
  /** Returns the decisions per millisecond since the last sample, or the last rate if no time has passed. */
  sample(): number;
}

/** `decisions` returns the total number of decisions so far. */
export function createDecisionRate(
  decisions: () => number,
  now: () => number = () => performance.now(),
): DecisionRate {
  let sampledAt = now();
  let sampledTotal = decisions();
  let perMs = 0;
  return {
    sample() {
      const at = now();
      if (at > sampledAt) {
        const total = decisions();
        perMs = (total - sampledTotal) / (at - sampledAt);
        sampledAt = at;
        sampledTotal = total;
      }
      return perMs;
    },
  };
}
