/**
 * Which rollups add up to a range of time, cut into spans: whole UTC days wherever that is possible, and quarters of an
 * hour for what sticks out. A cut that does not fall on a UTC midnight is moved to one, and the quarters between the two
 * are added on one side and taken away on the other, so that the sums are exact, whatever the time zone.
 */
import type { TimeRange } from './time-spans.ts';

export const dayMs = 86_400_000;

/** Quarters that a span gets besides its days, or has to give back. */
export interface Correction extends TimeRange {
  /** The beginning of the span. */
  readonly spanMs: number;
  readonly sign: 1 | -1;
}

export interface DayRollups {
  readonly days: TimeRange;
  readonly corrections: readonly Correction[];
}

/** `cuts` are the inner ones, in order. Undefined where the corrections would be most of the work. */
export function dayRollups(range: TimeRange, cuts: readonly number[], nowMs: number): DayRollups | undefined {
  const edges = [range.fromMs, ...cuts, range.toMs];
  const corrections: Correction[] = [];
  for (let i = 0; i + 1 < edges.length; i += 1) {
    const spanMs = edges[i] as number;
    corrections.push(
      ...correct(spanMs, spanMs, 'begins', nowMs),
      ...correct(spanMs, edges[i + 1] as number, 'ends', nowMs),
    );
  }
  // Nothing was used yet in quarters to come, or next to nothing.
  const workMs = corrections.reduce(
    (sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, nowMs) - fromMs),
    0,
  );
  return workMs * 2 > range.toMs - range.fromMs
    ? undefined
    : {
        days: { fromMs: midnightFor(range.fromMs, nowMs), toMs: midnightFor(range.toMs, nowMs) },
        corrections,
      };
}

/** Where a span begins, what lies behind the cut is its own; where it ends, what lies before. */
function correct(spanMs: number, cutMs: number, where: 'begins' | 'ends', nowMs: number): Correction[] {
  const midnightMs = midnightFor(cutMs, nowMs);
  const [fromMs, toMs] = cutMs < midnightMs ? [cutMs, midnightMs] : [midnightMs, cutMs];
  const sign = cutMs < midnightMs === (where === 'begins') ? 1 : -1;
  return fromMs === toMs ? [] : [{ spanMs, fromMs, toMs, sign }];
}

/** The nearest one; of a cut that lies ahead the next one, since hardly anything was used in between. */
export function midnightFor(cutMs: number, nowMs: number): number {
  return (cutMs < nowMs ? Math.round(cutMs / dayMs) : Math.ceil(cutMs / dayMs)) * dayMs;
}
