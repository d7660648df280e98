/** Much work in a row, without keeping everyone else waiting: after some milliseconds the others have their turn. */
import { performance } from 'node:perf_hooks';
import { setImmediate as others } from 'node:timers/promises';

const turnMs = 5;

/** Asked after each piece of work; a promise where it is time to wait. */
export function takingTurns(nowMs = () => performance.now()): () => Promise<void> | undefined {
  let since = nowMs();
  return () => {
    if (nowMs() - since < turnMs) {
      return undefined;
    }
    return others().then(() => {
      since = nowMs();
    });
  };
}
