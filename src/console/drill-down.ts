/** Links from a figure to the runs behind it, and to their usage: the filters of the API, and the days in the URL. */
import { calendarWindow } from '../kernel/windows.ts';
import { type DayRange, daysOf } from './day-range.ts';
import { link } from './html.ts';
import type { ScreenVisit } from './screen.ts';
import type { LimitItem } from './views.ts';

type Filters = Readonly<Record<string, string | undefined>>;

export function runsLink(filters: Filters, days?: DayRange): string {
  return link('/console/runs', { ...filters, ...days });
}

export function usageLink(filters: Filters, days?: DayRange): string {
  return link('/console/usage', { ...filters, ...days });
}

/** Returns the filters of the runs that count in a limit; undefined if they cannot be listed: it counts each value apart. */
export function matchFilters(match: LimitItem['match']): Filters | undefined {
  const fields = Object.entries(match);
  if (fields.some(([, value]) => value === '*')) {
    return undefined;
  }
  return Object.fromEntries(
    fields.map(([field, value]) =>
      field.startsWith('tag:') ? ['tag', `${field.slice('tag:'.length)}=${value}`] : [field, value],
    ),
  );
}

/** Returns a link to the spend of each value of a field, in the current period of a limit; undefined without a period. */
export function spendPerValueLink(
  field: string,
  { period, timezone }: Pick<LimitItem, 'period' | 'timezone'>,
  { org, now }: Pick<ScreenVisit, 'org' | 'now'>,
): string | undefined {
  if (period === null) {
    return undefined;
  }
  const { startMs } = calendarWindow(period, timezone ?? org.timezone, now.getTime());
  return usageLink({ group_by: field }, daysOf(startMs, now.getTime() + 1, org.timezone));
}
