/**
 * Bulk requests give way to decisions. Somebody waits for a decision and nobody for history, but both need the same
 * thread: while many decisions come in, bulk requests start one after the other and use a fifth of the time.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { createDecisionRate } from '../../../ledger/decision-rate.ts';

/** Fewer than these do not notice. */
const busyDecisionsPerMs = 0.5;
/** After its own time, a bulk request leaves so many times that for decisions. */
const timesLeft = 4;
/** However long the last one took, the next one starts after this. */
const waitMaxMs = 2_000;

export interface BulkThrottle {
  /** Does it when it is its turn. */
  turn<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** `decisions` counts those made so far. */
export function createBulkThrottle(
  decisions: () => number,
  now: () => number = () => performance.now(),
  wait: (ms: number) => Promise<unknown> = pause,
): BulkThrottle {
  const pace = createDecisionRate(decisions, now);
  const isBusy = () => pace.sample() > busyDecisionsPerMs;
  /** What a bulk request took lately. */
  let tookMs = 0;
  let nextAt = 0;

  return {
    async turn(work) {
      const asked = now();
      if (isBusy()) {
        const startAt = Math.max(asked, Math.min(nextAt, asked + waitMaxMs));
        nextAt = startAt + tookMs * (1 + timesLeft);
        if (startAt > asked) {
          await wait(startAt - asked);
        }
      }
      const started = now();
      try {
        return await work();
      } finally {
        const ended = now();
        tookMs = ended - started;
        if (isBusy()) {
          nextAt = Math.max(nextAt, ended + Math.min(tookMs * timesLeft, waitMaxMs));
        }
      }
    },
  };
}
