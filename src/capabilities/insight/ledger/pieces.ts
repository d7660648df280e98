/** Reads long periods of the ledger in pieces, so that other work waits for one piece at most. */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { bucketMs, type TimeRange } from '../../../kernel/rollup-parts.ts';
import type { ReportProgress } from '../../../platform/http/routes/route.ts';
import { OverCapacity } from '../../../platform/service-unavailable.ts';

const dayMs = 86_400_000;
const quickMs = 40;
const slowMs = 150;

/** Length of the first piece, and the unit that pieces consist of: 15-minute buckets, or days in UTC. */
const lengths = {
  buckets: { firstMs: 64 * bucketMs, unitMs: bucketMs },
  days: { firstMs: dayMs, unitMs: dayMs },
} as const;

const attemptsIfBusy = 5;
const busyPauseMs = 200;

/**
 * Reads the range in pieces of whole units, each as long as can be read quickly. `read` must have no effect if it fails: it is
 * called again if the database was busy.
 */
export async function inPieces(
  { fromMs, toMs }: TimeRange,
  unit: keyof typeof lengths,
  reportProgress: (readMs: number) => Promise<void>,
  read: (piece: TimeRange) => Promise<void>,
): Promise<void> {
  const { firstMs, unitMs } = lengths[unit];
  let lengthMs: number = firstMs;
  for (let atMs = Math.floor(fromMs / unitMs) * unitMs; atMs < toMs; ) {
    const piece = { fromMs: atMs, toMs: atMs + lengthMs };
    const startedMs = performance.now();
    await againIfBusy(() => read(piece));
    const tookMs = performance.now() - startedMs;
    await reportProgress(Math.min(piece.toMs, toMs) - Math.max(piece.fromMs, fromMs));
    if (tookMs < quickMs) {
      lengthMs *= 2;
    } else if (tookMs > slowMs && lengthMs > unitMs) {
      lengthMs /= 2;
    }
    atMs = piece.toMs;
  }
}

/**
 * Tries again what a busy database did not begin in time: everything that was read before would be lost, which may be minutes of
 * work. If the database is unavailable, the error is thrown at once.
 */
export async function againIfBusy<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OverCapacity) || attempt === attemptsIfBusy) {
        throw error;
      }
      await pause(busyPauseMs);
    }
  }
}

/** Reports the progress of several consecutive readings as a number of days. */
export function progressReporter(
  readings: readonly TimeRange[],
  progress: ReportProgress | undefined,
): (readMs: number) => Promise<void> {
  const lengths = readings.map(({ fromMs, toMs }) => toMs - fromMs);
  const allMs = lengths.reduce((sum, one) => sum + one, 0);
  const days = Math.ceil(Math.max(...lengths) / dayMs);
  let doneMs = 0;
  return async (readMs) => {
    doneMs += readMs;
    await progress?.({ done: Math.floor((days * doneMs) / allMs), of: days, unit: 'days' });
  };
}

export function bucketStartMs(atMs: number): number {
  return Math.floor(atMs / bucketMs) * bucketMs;
}
