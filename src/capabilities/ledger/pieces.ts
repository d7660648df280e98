/** Long stretches of the books are read in pieces, so that nobody waits for more than one of them. */
import { performance } from 'node:perf_hooks';
import { bucketMs } from '../../platform/ledger/counters.ts';

/** From `fromMs` up to, not including, `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const firstPieceMs = 64 * bucketMs;
const quickMs = 40;
const slowMs = 150;

/** Of whole quarters of an hour, as long as can be read in a moment. */
export async function inPieces(
  { fromMs, toMs }: TimeRange,
  read: (piece: TimeRange) => Promise<void>,
): Promise<void> {
  let lengthMs = firstPieceMs;
  for (let atMs = quarterOf(fromMs); atMs < toMs; ) {
    const piece = { fromMs: atMs, toMs: atMs + lengthMs };
    const startedMs = performance.now();
    await read(piece);
    const tookMs = performance.now() - startedMs;
    if (tookMs < quickMs) {
      lengthMs *= 2;
    } else if (tookMs > slowMs && lengthMs > bucketMs) {
      lengthMs /= 2;
    }
    atMs = piece.toMs;
  }
}

export function quarterOf(atMs: number): number {
  return Math.floor(atMs / bucketMs) * bucketMs;
}
