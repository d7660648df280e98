/**
 * The hours, days and months that a range of time touches, in a time zone. They come from the same windows that limits
 * count in, and not from the database's idea of time zones: a day here is the day of a daily cap, to the instant.
 */

import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import { calendarWindow, formatInstant } from '../../../kernel/windows.ts';
import type { Span } from './schema.ts';

const hourMs = 3_600_000;

/** The beginnings, in order; the first is at or before the range's. */
export function beginnings(span: Span, timeZone: string, { fromMs, toMs }: TimeRange): number[] {
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
 * What lies just before: as many months or days where the range is made of whole ones, which need not be as long, and
 * else the same time.
 */
export function previousRange({ fromMs, toMs }: TimeRange, timeZone: string): TimeRange {
  for (const period of ['month', 'day'] as const) {
    const begins = (ms: number) => calendarWindow(period, timeZone, ms).startMs === ms;
    if (begins(fromMs) && begins(toMs)) {
      const before = beginnings(period, timeZone, { fromMs, toMs }).reduce(
        (startMs) => calendarWindow(period, timeZone, startMs - 1).startMs,
        fromMs,
      );
      return { fromMs: before, toMs: fromMs };
    }
  }
  return { fromMs: fromMs - (toMs - fromMs), toMs: fromMs };
}

/** Counted from the beginning of the day, so a day that daylight saving changes has 23 or 25. */
function hoursOf(startMs: number, endMs: number): number[] {
  return Array.from(
    { length: Math.ceil((endMs - startMs) / hourMs) },
    (_, index) => startMs + index * hourMs,
  );
}

export function labelOf(span: Span, timeZone: string, startMs: number): string {
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
