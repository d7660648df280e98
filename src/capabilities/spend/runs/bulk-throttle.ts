/**
 * Throttles bulk requests in favor of edge decisions. Decisions are latency-critical and bulk requests are not, but both share one
 * thread. At a high decision rate, bulk requests run one at a time and use about a fifth of the time, or more if the pauses reach
 * their maximum.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { createDecisionRate } from '../../../ledger/decision-rate.ts';

/** Decision rate above which bulk requests are throttled. */
const busyDecisionsPerMs = 0.5;
/** Pause after a bulk request, as a multiple of its duration. */
const pauseFactor = 4;
/** Maximum pause before the next bulk request starts, however long the last one took. */
const waitMaxMs = 2_000;

export interface BulkThrottle {
  /** Runs `work` after the pause that the decision rate requires. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Creates the throttle. `decisions` returns the number of decisions so far. */
export function createBulkThrottle(
  decisions: () => number,
  now: () => number = () => performance.now(),
  wait: (ms: number) => Promise<unknown> = pause,
): BulkThrottle {
  const decisionRate = createDecisionRate(decisions, now);
  const isBusy = () => decisionRate.sample() > busyDecisionsPerMs;
  let lastDurationMs = 0;
  let nextStartAt = 0;

  return {
    async run(work) {
      const requestedAt = now();
      if (isBusy()) {
        const startAt = Math.max(requestedAt, Math.min(nextStartAt, requestedAt + waitMaxMs));
        nextStartAt = startAt + lastDurationMs * (1 + pauseFactor);
        if (startAt > requestedAt) {
          await wait(startAt - requestedAt);
        }
      }
      const started = now();
      try {
        return await work();
      } finally {
        const ended = now();
        lastDurationMs = ended - started;
        if (isBusy()) {
          nextStartAt = Math.max(nextStartAt, ended + Math.min(lastDurationMs * pauseFactor, waitMaxMs));
        }
      }
    },
  };
}
