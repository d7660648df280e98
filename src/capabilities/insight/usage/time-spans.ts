/**
 * Hours, days and months within a time range, in a time zone. Computed with the windows of limits, not with the time
 * zones of the database, so that a day here is exactly the day of a daily cap.
 */

import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import { calendarWindow, formatInstant } from '../../../kernel/windows.ts';
import type { UsageSpan } from './schema.ts';

const hourMs = 3_600_000;

/** Returns the starts in order; the first is at or before the start of the range. */
export function spanStarts(span: UsageSpan, timeZone: string, { fromMs, toMs }: TimeRange): number[] {
  const starts: number[] = [];
  const period = span === 'hour' ? 'day' : span;
  for (let atMs = fromMs; atMs < toMs; ) {
    const { startMs, endMs } = calendarWindow(period, timeZone, atMs);
    if (span === 'hour') {
      starts.push(...hoursOf(startMs, endMs).filter((hour) => hour > fromMs - hourMs && hour < toMs));
    } else {
      starts.push(startMs);
    }
    atMs = endMs;
  }
  return starts;
}

/**
 * Returns the range before: the same number of months or days if the range consists of whole ones, which may differ in
 * length, otherwise the same duration.
 */
export function previousRange({ fromMs, toMs }: TimeRange, timeZone: string): TimeRange {
  for (const period of ['month', 'day'] as const) {
    const begins = (ms: number) => calendarWindow(period, timeZone, ms).startMs === ms;
    if (begins(fromMs) && begins(toMs)) {
      const before = spanStarts(period, timeZone, { fromMs, toMs }).reduce(
        (startMs) => calendarWindow(period, timeZone, startMs - 1).startMs,
        fromMs,
      );
      return { fromMs: before, toMs: fromMs };
    }
  }
  return { fromMs: fromMs - (toMs - fromMs), toMs: fromMs };
}

/**
 * Returns the start of each hour. Hours are counted from the start of the day, so a day with a daylight saving change
 * has 23 or 25 hours.
 */
function hoursOf(startMs: number, endMs: number): number[] {
  return Array.from(
    { length: Math.ceil((endMs - startMs) / hourMs) },
    (_, index) => startMs + index * hourMs,
  );
}

export function spanLabel(span: UsageSpan, timeZone: string, startMs: number): string {
  const text = formatInstant(startMs, timeZone);
  switch (span) {
    case 'hour':
      return text;
    case 'day':
      return text.slice(0, 10);
    case 'month':
      return text.slice(0, 7);
  }
}
