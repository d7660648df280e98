/** Date ranges in URLs: `from` and `to` are days in the organization's time zone, both included. */
import { Temporal } from 'temporal-polyfill';
import { localTime } from '../kernel/local-time.ts';
import type { Filter } from './filters.ts';
import { instantOf } from './forms.ts';

export const dayFilters: readonly Filter[] = [
  { name: 'from', label: 'From', type: 'date' },
  { name: 'to', label: 'To', type: 'date' },
];

export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the instants of the range for the API. Anything else than a day is passed on, so that the API rejects it. */
export function instantsOf(
  query: URLSearchParams,
  timezone: string,
): { readonly from?: string; readonly to?: string } {
  const from = query.get('from') ?? '';
  const to = query.get('to') ?? '';
  return {
    ...(from !== '' && { from: isDay(from) ? instantOf(from, timezone) : from }),
    ...(to !== '' && { to: isDay(to) ? instantOf(dayAfter(to), timezone) : to }),
  };
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text);
}

function dayAfter(day: string): string {
  try {
    return Temporal.PlainDate.from(day, { overflow: 'reject' }).add({ days: 1 }).toString();
  } catch {
    return day;
  }
}

/** Returns the days of a period; `endMs` is not included. */
export function daysOf(startMs: number, endMs: number, timezone: string): DayRange {
  return { from: localTime(timezone, startMs).date, to: localTime(timezone, endMs - 1).date };
}
