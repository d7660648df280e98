/** How many edge decisions come in, for work that nobody waits for and that gives way to them. */
import { performance } from 'node:perf_hooks';

export interface DecisionRate {
  /** How many a millisecond since the last look; as before where no time has passed. */
  look(): number;
}

/** `decisions` counts those made so far. */
export function createDecisionRate(
  decisions: () => number,
  now: () => number = () => performance.now(),
): DecisionRate {
  let lookedAt = now();
  let counted = decisions();
  let perMs = 0;
  return {
    look() {
      const at = now();
      if (at > lookedAt) {
        const total = decisions();
        perMs = (total - counted) / (at - lookedAt);
        lookedAt = at;
        counted = total;
      }
      return perMs;
    },
  };
}
