/** Much work in a row, without keeping everyone else waiting: after some milliseconds the others have their turn. */
import { performance } from 'node:perf_hooks';
import { setImmediate as others } from 'node:timers/promises';

const turnMs = 5;

/** Asked after each piece of work; a promise where it is time to wait. */
export function takingTurns(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < turnMs) {
      return undefined;
    }
    return others().then(() => {
      since = performance.now();
    });
  };
}
