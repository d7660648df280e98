/**
 * Windows as pure functions of time. The start of a window is part of its counter key, so a new window needs no
 * reset: it has its own counter. Calendar windows follow the wall clock of a time zone, across daylight saving
 * changes.
 */
import { Temporal } from 'temporal-polyfill';

export const periods = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Period = (typeof periods)[number];

/** From `startMs` up to, not including, `endMs`. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/** The window of limits that never reset: from the epoch to the end of the last year that the service accepts. */
export const lifetime: Window = { startMs: 0, endMs: Date.UTC(2200, 0, 1) };

/** Returns the window that contains a time, among windows of equal length counted from the epoch. */
export function fixedWindow(seconds: number, atMs: number): Window {
  const lengthMs = seconds * 1_000;
  const startMs = Math.floor(atMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

/** Cache: computing a window takes 0.1 ms, and nearly always the last one is needed again. */
const windowCache = new Map<string, Window>();
const windowCacheMax = 10_000;

export function calendarWindow(period: Period, timeZone: string, atMs: number): Window {
  const key = `${period} ${timeZone}`;
  const cached = windowCache.get(key);
  if (cached !== undefined && cached.startMs <= atMs && atMs < cached.endMs) {
    return cached;
  }
  const window = computeCalendarWindow(period, timeZone, atMs);
  if (windowCache.size >= windowCacheMax) {
    windowCache.clear();
  }
  windowCache.set(key, window);
  return window;
}

function computeCalendarWindow(period: Period, timeZone: string, atMs: number): Window {
  const today = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone).toPlainDate();
  const first = firstDay(period, today);
  const next = first.add(lengths[period]);
  return { startMs: startOfDay(first, timeZone), endMs: startOfDay(next, timeZone) };
}

const lengths = {
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  quarter: { months: 3 },
  year: { years: 1 },
} as const;

function firstDay(period: Period, day: Temporal.PlainDate): Temporal.PlainDate {
  switch (period) {
    case 'day':
      return day;
    case 'week':
      return day.subtract({ days: day.dayOfWeek - 1 });
    case 'month':
      return day.with({ day: 1 });
    case 'quarter':
      return day.with({ day: 1, month: day.month - ((day.month - 1) % 3) });
    case 'year':
      return day.with({ day: 1, month: 1 });
  }
}

/** Returns the start of a day. If the clock skips midnight, it is the first instant after it. */
function startOfDay(day: Temporal.PlainDate, timeZone: string): number {
  return day.toZonedDateTime({ timeZone }).epochMilliseconds;
}

/** Formats a time with the offset of its time zone. */
export function formatInstant(atMs: number, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(atMs).toString({ timeZone, smallestUnit: 'millisecond' });
}
