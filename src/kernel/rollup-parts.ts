/**
 * Splits a time range into rollups: UTC days for most of it, and 15-minute buckets for the rest. An end that is not a UTC midnight
 * is moved to one, and the buckets in between are added or subtracted. The sums are integers, so the result is exact in every time
 * zone.
 */

/** Size of a rollup bucket. Days start and end on a bucket in every time zone. */
export const bucketMs = 15 * 60_000;
export const dayMs = 86_400_000;

/** From `fromMs` up to, not including, `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RollupPart extends TimeRange {
  readonly unit: 'day' | 'bucket';
  /** -1: the part is subtracted. */
  readonly sign: 1 | -1;
}

/**
 * Returns the parts that sum up to the range, which must start and end on a bucket. There is almost no usage after `nowMs`, so
 * buckets after it count as free to read.
 */
export function rollupParts(range: TimeRange, nowMs = Number.POSITIVE_INFINITY): RollupPart[] {
  const days = { fromMs: midnightFor(range.fromMs, nowMs), toMs: midnightFor(range.toMs, nowMs) };
  const ends = [...between(range.fromMs, days.fromMs), ...between(days.toMs, range.toMs)];
  const read = ({ fromMs, toMs }: TimeRange) => Math.max(0, Math.min(toMs, nowMs) - fromMs);
  const endsMs = ends.reduce((sum, end) => sum + read(end), 0);
  return endsMs * 2 > read(range) || days.fromMs >= days.toMs
    ? [{ unit: 'bucket', sign: 1, ...range }]
    : [{ unit: 'day', sign: 1, ...days }, ...ends];
}

/** Returns the nearest midnight; for a time in the future the next one, because there is almost no usage in between. */
function midnightFor(endMs: number, nowMs: number): number {
  return (endMs < nowMs ? Math.round(endMs / dayMs) : Math.ceil(endMs / dayMs)) * dayMs;
}

/** Returns the range between two times, with a negative sign if the first one is later. */
function between(aMs: number, bMs: number): RollupPart[] {
  if (aMs === bMs) {
    return [];
  }
  return [
    aMs < bMs
      ? { unit: 'bucket', sign: 1, fromMs: aMs, toMs: bMs }
      : { unit: 'bucket', sign: -1, fromMs: bMs, toMs: aMs },
  ];
}
