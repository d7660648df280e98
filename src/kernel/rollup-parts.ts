/**
 * Which rollups add up to a range of time: days in UTC for most of it, and quarters of an hour for what sticks out. An end
 * that is no midnight in UTC is moved to one, and the quarters in between are added or taken away. These are sums of
 * integers, so what comes out is exact in every time zone.
 */

/** The rollups' bucket. Every time zone's days begin and end on one. */
export const bucketMs = 15 * 60_000;
export const dayMs = 86_400_000;

/** From `fromMs` up to, not including, `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RollupPart extends TimeRange {
  readonly unit: 'day' | 'quarter';
  /** -1: it is taken away. */
  readonly sign: 1 | -1;
}

/** The range has to begin and end on a bucket. Next to nothing was used after `nowMs`, so what lies there costs nothing to read. */
export function rollupParts(range: TimeRange, nowMs = Number.POSITIVE_INFINITY): RollupPart[] {
  const days = { fromMs: midnightFor(range.fromMs, nowMs), toMs: midnightFor(range.toMs, nowMs) };
  const ends = [...between(range.fromMs, days.fromMs), ...between(days.toMs, range.toMs)];
  const read = ({ fromMs, toMs }: TimeRange) => Math.max(0, Math.min(toMs, nowMs) - fromMs);
  const endsMs = ends.reduce((sum, end) => sum + read(end), 0);
  return endsMs * 2 > read(range) || days.fromMs >= days.toMs
    ? [{ unit: 'quarter', sign: 1, ...range }]
    : [{ unit: 'day', sign: 1, ...days }, ...ends];
}

/** The nearest one; of an end that lies ahead the next one, since hardly anything was used in between. */
function midnightFor(endMs: number, nowMs: number): number {
  return (endMs < nowMs ? Math.round(endMs / dayMs) : Math.ceil(endMs / dayMs)) * dayMs;
}

/** What lies between two instants, taken away where the first one is the later. */
function between(aMs: number, bMs: number): RollupPart[] {
  if (aMs === bMs) {
    return [];
  }
  return [
    aMs < bMs
      ? { unit: 'quarter', sign: 1, fromMs: aMs, toMs: bMs }
      : { unit: 'quarter', sign: -1, fromMs: bMs, toMs: aMs },
  ];
}
