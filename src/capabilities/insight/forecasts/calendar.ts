/** Days of a time zone for forecasts: their start and their name. */
import { calendarWindow } from '../../../kernel/windows.ts';
import { spanLabel } from '../usage/index.ts';

export const dayMs = 86_400_000;
const daysAtOnce = 7;

/** Today in a time zone, with its start and end. */
export interface Today {
  readonly timezone: string;
  /** Days since 1970, so that consecutive days differ by one. */
  readonly number: number;
  readonly startMs: number;
  readonly endMs: number;
  /** Remaining part of the day, from 0 to 1. */
  readonly left: number;
}

export function todayIn(timezone: string, nowMs: number): Today {
  const { startMs, endMs } = calendarWindow('day', timezone, nowMs);
  return {
    timezone,
    number: numberOf(spanLabel('day', timezone, startMs)),
    startMs,
    endMs,
    left: (endMs - nowMs) / (endMs - startMs),
  };
}

/**
 * Returns the start of each of the `count` days before today, oldest first. Computing a day is expensive, so weeks of
 * seven 24-hour days are skipped as a whole; only weeks with a daylight saving change are computed day by day.
 */
export function daysBefore({ timezone, startMs }: Today, count: number): number[] {
  const starts: number[] = [];
  let atMs = startMs;
  while (starts.length < count) {
    const weekBefore = startOfDay(timezone, atMs - (daysAtOnce - 0.5) * dayMs);
    const isPlain = atMs - weekBefore === daysAtOnce * dayMs;
    for (let day = 0; day < daysAtOnce && starts.length < count; day += 1) {
      atMs = isPlain ? atMs - dayMs : startOfDay(timezone, atMs - 0.5 * dayMs);
      starts.push(atMs);
    }
  }
  return starts.reverse();
}

/** Returns an instant within the day that is `daysLater` days after today, for looking up windows. */
export function middleOfDay({ startMs }: Today, daysLater: number): number {
  return startMs + (daysLater + 0.5) * dayMs;
}

function startOfDay(timezone: string, atMs: number): number {
  return calendarWindow('day', timezone, atMs).startMs;
}

export function numberOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

export function dateOf(number: number): string {
  return new Date(number * dayMs).toISOString().slice(0, 10);
}
