/** Makes long computations yield to the event loop every few milliseconds. */
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

/** Time that a computation may take between two turns of the event loop. */
const budgetMs = 5;

export interface Yielder {
  /** Called after each piece of work. Returns a promise to await if the budget is used up, otherwise undefined. */
  yieldIfDue(): Promise<void> | undefined;
}

export function createYielder(nowMs = () => performance.now()): Yielder {
  let yieldedAtMs = nowMs();
  return {
    yieldIfDue() {
      if (nowMs() - yieldedAtMs < budgetMs) {
        return undefined;
      }
      return setImmediate().then(() => {
        yieldedAtMs = nowMs();
      });
    },
  };
}
