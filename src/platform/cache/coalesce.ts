/**
 * Bounds how often expensive work is done for many callers at once. Callers that come while it is in progress share the next
 * round, which begins after all of them have come: what they get is never older than their call.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

export interface CoalesceOptions {
  /** Between the beginnings of two rounds. */
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
  let begunMs = Number.NEGATIVE_INFINITY;

  async function round(): Promise<Result> {
    await current.catch(() => undefined);
    const leftMs = begunMs + everyMs - nowMs();
    if (leftMs > 0) {
      await wait(leftMs);
    }
    begunMs = nowMs();
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
