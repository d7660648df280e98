/**
 * Windows as pure functions of time. A window's start is part of its counter's key, so that a new window needs no reset:
 * it simply has a counter of its own. Calendar windows follow the wall clock of a time zone, across daylight saving.
 */
import { Temporal } from 'temporal-polyfill';

export const periods = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Period = (typeof periods)[number];

/** From `startMs` up to, not including, `endMs`. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/** Everything, ever. The bounds are those of the instants that the service can name. */
export const lifetime: Window = { startMs: 0, endMs: Date.UTC(2200, 0, 1) };

/** Windows of equal length, counted from the epoch. */
export function fixedWindow(seconds: number, atMs: number): Window {
  const lengthMs = seconds * 1_000;
  const startMs = Math.floor(atMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

/** Computing a window takes a tenth of a millisecond, and nearly always it is one that was just asked for. */
const recent = new Map<string, Window>();
const recentMax = 10_000;

export function calendarWindow(period: Period, timeZone: string, atMs: number): Window {
  const key = `${period} ${timeZone}`;
  const known = recent.get(key);
  if (known !== undefined && known.startMs <= atMs && atMs < known.endMs) {
    return known;
  }
  const window = computeCalendarWindow(period, timeZone, atMs);
  if (recent.size >= recentMax) {
    recent.clear();
  }
  recent.set(key, window);
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

/** Where the clock skips midnight, the day begins at the first instant after it. */
function startOfDay(day: Temporal.PlainDate, timeZone: string): number {
  return day.toZonedDateTime({ timeZone }).epochMilliseconds;
}

/** An instant with the offset of its time zone, as people there would write it. */
export function formatInstant(atMs: number, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(atMs).toString({ timeZone, smallestUnit: 'millisecond' });
}
