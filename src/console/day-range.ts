/** Date ranges in URLs: `from` and `to` are days in the organization's time zone, both included. */
import { localTime } from '../kernel/local-time.ts';
import type { Filter } from './filters.ts';

export const dayFilters: readonly Filter[] = [
  { name: 'from', label: 'From', type: 'date' },
  { name: 'to', label: 'To', type: 'date' },
];

export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the days of a period; `endMs` is not included. */
export function daysOf(startMs: number, endMs: number, timezone: string): DayRange {
  return { from: localTime(timezone, startMs).date, to: localTime(timezone, endMs - 1).date };
}
