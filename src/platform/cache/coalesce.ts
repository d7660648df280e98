/**
 * Limits how often expensive work runs, regardless of the number of callers. All calls during a round share the next round. That
 * round starts after these calls, so no result is older than its call.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

export interface CoalesceOptions {
  /** Minimum time between the starts of two rounds. */
  readonly everyMs: number;
  nowMs?(): number;
  wait?(ms: number): Promise<unknown>;
}

export function coalesced<Result>(
  work: () => Promise<Result>,
  { everyMs, nowMs = () => performance.now(), wait = pause }: CoalesceOptions,
): () => Promise<Result> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  let startedMs = Number.NEGATIVE_INFINITY;

  async function round(): Promise<Result> {
    await current.catch(() => undefined);
    const waitMs = startedMs + everyMs - nowMs();
    if (waitMs > 0) {
      await wait(waitMs);
    }
    startedMs = nowMs();
    next = undefined;
    const result = work();
    current = result;
    return result;
  }

  return () => {
    next ??= round();
    return next;
  };
}
