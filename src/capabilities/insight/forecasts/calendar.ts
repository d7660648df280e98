/** The days of a time zone, as far as forecasts go: where they begin, and their names. */
import { calendarWindow } from '../../../kernel/windows.ts';
import { labelOf } from '../usage/index.ts';

export const dayMs = 86_400_000;
const daysAtOnce = 7;

/** Today in a time zone, and where it begins and ends. */
export interface Today {
  readonly timezone: string;
  /** Days since 1970, so that neighbours differ by one. */
  readonly number: number;
  readonly startMs: number;
  readonly endMs: number;
  /** How much of it is still to come, from 0 to 1. */
  readonly left: number;
}

export function todayIn(timezone: string, nowMs: number): Today {
  const { startMs, endMs } = calendarWindow('day', timezone, nowMs);
  return {
    timezone,
    number: numberOf(labelOf('day', timezone, startMs)),
    startMs,
    endMs,
    left: (endMs - nowMs) / (endMs - startMs),
  };
}

/**
 * Where the so many days before today begin, oldest first. To compute a day is dear, so a week at a time is stepped over
 * where it has seven days of 24 hours; only weeks with daylight saving in them are gone through day by day.
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

/** An instant within a day that comes so many days after today, for windows to be asked for by it. */
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
