/** Durations of earlier calls, per model. They say when the calls in progress are expected to end. */
import { type CallCounts, percentileBucket, sumOf } from '../../growing-holds/call-counts.ts';

export interface DurationHistory {
  learn(orgId: string, model: string, durationMs: number): void;
  /** Returns the median of the time that calls went on which had lasted this long. */
  expectedRestMs(orgId: string, model: string, elapsedMs: number): number;
}

const samplesMin = 10;
/** Each bucket ends at 1.2 times the end of the previous one, the first at 0.1 seconds and the last one after almost three hours. */
const shape = { buckets: 64, samplesMax: 400 };
const growth = 1.2;
const firstMs = 100;

export function createDurationHistory(learned: CallCounts): DurationHistory {
  return {
    learn(orgId, model, durationMs) {
      learned.add(orgId, durationName(model), bucketOf(durationMs), shape);
    },
    expectedRestMs(orgId, model, elapsedMs) {
      const counts = learned.find(orgId, durationName(model));
      const first = bucketOf(elapsedMs) + 1;
      if (
        counts === undefined ||
        first >= shape.buckets ||
        sumOf(counts, first, shape.buckets) < samplesMin
      ) {
        // A call without a history is expected to last twice as long as it has lasted.
        return elapsedMs;
      }
      const median = first + (percentileBucket(counts, 0.5, first, shape.buckets) as number);
      return firstMs * growth ** median - elapsedMs;
    },
  };
}

function bucketOf(durationMs: number): number {
  const bucket = Math.ceil(Math.log(Math.max(firstMs, durationMs) / firstMs) / Math.log(growth));
  return Math.min(shape.buckets - 1, bucket);
}

function durationName(model: string): string {
  return `duration ${model}`;
}
