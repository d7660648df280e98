/** Long stretches of the books are read in pieces, so that nobody waits for more than one of them. */
import { performance } from 'node:perf_hooks';
import { bucketMs } from '../../platform/ledger/rollup-parts.ts';

/** From `fromMs` up to, not including, `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const quickMs = 40;
const slowMs = 150;

/** How long the first piece is, and the shortest: quarters of an hour, or days in UTC. */
const lengths = {
  quarters: { firstMs: 64 * bucketMs, unitMs: bucketMs },
  days: { firstMs: 86_400_000, unitMs: 86_400_000 },
} as const;

/** Of whole units, as long as can be read in a moment. */
export async function inPieces(
  { fromMs, toMs }: TimeRange,
  unit: keyof typeof lengths,
  read: (piece: TimeRange) => Promise<void>,
): Promise<void> {
  const { firstMs, unitMs } = lengths[unit];
  let lengthMs: number = firstMs;
  for (let atMs = Math.floor(fromMs / unitMs) * unitMs; atMs < toMs; ) {
    const piece = { fromMs: atMs, toMs: atMs + lengthMs };
    const startedMs = performance.now();
    await read(piece);
    const tookMs = performance.now() - startedMs;
    if (tookMs < quickMs) {
      lengthMs *= 2;
    } else if (tookMs > slowMs && lengthMs > unitMs) {
      lengthMs /= 2;
    }
    atMs = piece.toMs;
  }
}

export function quarterOf(atMs: number): number {
  return Math.floor(atMs / bucketMs) * bucketMs;
}
