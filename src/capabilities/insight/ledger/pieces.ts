/** Reads long periods of the ledger in pieces, so that other work waits for one piece at most. */
import { performance } from 'node:perf_hooks';
import { bucketMs } from '../../../kernel/rollup-parts.ts';
import type { ReportProgress } from '../../../platform/http/routes/route.ts';

/** Half-open interval: includes `fromMs`, excludes `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const dayMs = 86_400_000;
const quickMs = 40;
const slowMs = 150;

/** Length of the first piece, and the unit that pieces consist of: 15-minute buckets, or days in UTC. */
const lengths = {
  buckets: { firstMs: 64 * bucketMs, unitMs: bucketMs },
  days: { firstMs: dayMs, unitMs: dayMs },
} as const;

/** Reads the range in pieces of whole units, each as long as can be read quickly. */
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
    await read(piece);
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
