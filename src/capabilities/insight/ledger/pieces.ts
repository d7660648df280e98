/** Long stretches of the books are read in pieces, so that nobody waits for more than one of them. */
import { performance } from 'node:perf_hooks';
import { bucketMs } from '../../../kernel/rollup-parts.ts';
import type { ReportProgress } from '../../../platform/http/routes/route.ts';

/** From `fromMs` up to, not including, `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const dayMs = 86_400_000;
const quickMs = 40;
const slowMs = 150;

/** How long the first piece is, and the shortest: quarters of an hour, or days in UTC. */
const lengths = {
  quarters: { firstMs: 64 * bucketMs, unitMs: bucketMs },
  days: { firstMs: dayMs, unitMs: dayMs },
} as const;

/** Of whole units, as long as can be read in a moment. */
export async function inPieces(
  { fromMs, toMs }: TimeRange,
  unit: keyof typeof lengths,
  tell: (readMs: number) => Promise<void>,
  read: (piece: TimeRange) => Promise<void>,
): Promise<void> {
  const { firstMs, unitMs } = lengths[unit];
  let lengthMs: number = firstMs;
  for (let atMs = Math.floor(fromMs / unitMs) * unitMs; atMs < toMs; ) {
    const piece = { fromMs: atMs, toMs: atMs + lengthMs };
    const startedMs = performance.now();
    await read(piece);
    const tookMs = performance.now() - startedMs;
    await tell(Math.min(piece.toMs, toMs) - Math.max(piece.fromMs, fromMs));
    if (tookMs < quickMs) {
      lengthMs *= 2;
    } else if (tookMs > slowMs && lengthMs > unitMs) {
      lengthMs /= 2;
    }
    atMs = piece.toMs;
  }
}

/** Tells of several readings, one after the other, as of the days that all of them together are about. */
export function tellReading(
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

export function quarterOf(atMs: number): number {
  return Math.floor(atMs / bucketMs) * bucketMs;
}
