/**
 * The date range of a page, in the time zone of the organization. The parameters `range`, `from` and `to` have the same meaning on every
 * page, so that a range travels with a link.
 */
import { Temporal } from 'temporal-polyfill';
import { calendarWindow } from '../kernel/windows.ts';
import { tabBar } from './components.ts';
import { html, link, type Markup } from './html.ts';
import { hiddenInputs, labeled } from './inputs.ts';
import type { ScreenVisit } from './screen.ts';

const presets = [
  ['today', 'Today'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['month', 'This month'],
  ['last_month', 'Last month'],
] as const;
export type PeriodName = (typeof presets)[number][0] | 'custom' | 'all';

const invalidRange = 'Invalid range';

export const periodParameters = ['range', 'from', 'to'];

export interface PagePeriod {
  readonly name: PeriodName;
  /** The query of the API. Empty for all time; an invalid range or date is passed on, so that the API rejects it. */
  readonly api: { readonly from?: string; readonly to?: string; readonly range?: string };
  /** The parameters that select the period on another page. */
  readonly query: Readonly<Record<string, string>>;
  /** First and last day as `YYYY-MM-DD`, for date fields. */
  readonly days: { readonly from: string; readonly to: string };
  readonly label: string;
}

type When = Pick<ScreenVisit, 'now' | 'query'> & { readonly org: { readonly timezone: string } };

type Fallback = 'all' | '30d' | 'today';

/** `fallback` is the period of an address without one. */
export function periodOf({ query, now, org }: When, fallback: Fallback): PagePeriod {
  const timezone = org.timezone;
  const [from, to] = [query.get('from')?.trim() ?? '', query.get('to')?.trim() ?? ''];
  const asked = query.get('range') ?? '';
  const name = periodName(asked, from !== '' || to !== '', fallback);
  const today = calendarWindow('day', timezone, now.getTime());
  const startOf = (daysBefore: number) => dayBefore(today.startMs, daysBefore, timezone);
  if (name === undefined) {
    return {
      name: 'custom',
      api: { range: asked },
      query: { range: asked },
      days: dates(startOf(29), today.endMs, timezone),
      label: invalidRange,
    };
  }
  switch (name) {
    case 'all':
      return { name, api: {}, query: {}, days: dates(startOf(29), today.endMs, timezone), label: 'All time' };
    case 'custom':
      return customPeriod(from, to, timezone, { startMs: startOf(29), endMs: today.endMs });
    case 'today':
      return preset(name, today.startMs, today.endMs, timezone);
    case '7d':
      return preset(name, startOf(6), today.endMs, timezone);
    case '30d':
      return preset(name, startOf(29), today.endMs, timezone);
    case 'month':
      return preset(name, calendarWindow('month', timezone, now.getTime()).startMs, today.endMs, timezone);
    case 'last_month': {
      const { startMs: endMs } = calendarWindow('month', timezone, now.getTime());
      return preset(name, calendarWindow('month', timezone, endMs - 1).startMs, endMs, timezone);
    }
  }
}

/** Returns undefined if there is no such range. */
function periodName(asked: string, hasDates: boolean, fallback: Fallback): PeriodName | undefined {
  switch (asked) {
    case 'custom':
    case 'all':
      return hasDates ? 'custom' : asked;
    case '':
      return hasDates ? 'custom' : fallback;
    default:
      return presets.find(([preset]) => preset === asked)?.[0];
  }
}

function dayBefore(startMs: number, days: number, timezone: string): number {
  let at = startMs;
  for (let back = 0; back < days; back += 1) {
    at = calendarWindow('day', timezone, at - 1).startMs;
  }
  return at;
}

function preset(name: PeriodName, fromMs: number, toMs: number, timezone: string): PagePeriod {
  return {
    name,
    api: instants(fromMs, toMs),
    query: { range: name },
    days: dates(fromMs, toMs, timezone),
    label: rangeLabel(fromMs, toMs, timezone),
  };
}

/** Dates are whole days, the last one included; times are instants, the last one excluded. */
function customPeriod(
  from: string,
  to: string,
  timezone: string,
  fallback: { readonly startMs: number; readonly endMs: number },
): PagePeriod {
  const fromMs = from === '' ? fallback.startMs : boundary(from, timezone, 'startMs');
  const toMs = to === '' ? fallback.endMs : boundary(to, timezone, 'endMs');
  const query = { range: 'custom', ...(from !== '' && { from }), ...(to !== '' && { to }) };
  if (fromMs === undefined || toMs === undefined) {
    const shown = dates(fallback.startMs, fallback.endMs, timezone);
    return {
      name: 'custom',
      api: {
        from: fromMs === undefined ? from : new Date(fromMs).toISOString(),
        to: toMs === undefined ? to : new Date(toMs).toISOString(),
      },
      query,
      days: { from: from || shown.from, to: to || shown.to },
      label: invalidRange,
    };
  }
  return {
    name: 'custom',
    api: instants(fromMs, toMs),
    query,
    days: dates(fromMs, Math.max(fromMs + 1, toMs), timezone),
    label: rangeLabel(fromMs, toMs, timezone),
  };
}

function boundary(text: string, timezone: string, side: 'startMs' | 'endMs'): number | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) {
    try {
      const noon = Temporal.PlainDate.from(text).toZonedDateTime({ timeZone: timezone, plainTime: '12:00' });
      return calendarWindow('day', timezone, noon.epochMilliseconds)[side];
    } catch {
      return undefined;
    }
  }
  const instant = /T.*(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(instant) ? undefined : instant;
}

function instants(fromMs: number, toMs: number): { readonly from: string; readonly to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

function zoned(ms: number, timezone: string) {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}

function dates(
  fromMs: number,
  toMs: number,
  timezone: string,
): { readonly from: string; readonly to: string } {
  const dateOf = (ms: number) => zoned(ms, timezone).toPlainDate().toString();
  return { from: dateOf(fromMs), to: dateOf(toMs - 1) };
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a range, such as “1 – 15 Nov 2026” or “6 Nov 2026, 10:00 – 11:00”. */
export function rangeLabel(fromMs: number, toMs: number, timezone: string): string {
  const isWhole = [fromMs, toMs].every((ms) => calendarWindow('day', timezone, ms).startMs === ms);
  const [first, last] = [zoned(fromMs, timezone), zoned(isWhole ? toMs - 1 : toMs, timezone)];
  const month = (one: typeof first) => `${one.day} ${monthNames[one.month - 1]}`;
  const timeOf = (one: typeof first) => one.toPlainTime().toString({ smallestUnit: 'minute' });
  if (!isWhole) {
    return first.toPlainDate().equals(last.toPlainDate())
      ? `${month(first)} ${first.year}, ${timeOf(first)} – ${timeOf(last)}`
      : `${month(first)} ${first.year}, ${timeOf(first)} – ${month(last)} ${last.year}, ${timeOf(last)}`;
  }
  if (first.toPlainDate().equals(last.toPlainDate())) {
    return `${month(first)} ${first.year}`;
  }
  if (first.year !== last.year) {
    return `${month(first)} ${first.year} – ${month(last)} ${last.year}`;
  }
  return `${first.month === last.month ? first.day : month(first)} – ${month(last)} ${last.year}`;
}

/** Returns the query without the range and the position in a list, which belong to the range that was shown. */
function unranged(query: URLSearchParams): Record<string, string> {
  const left = ['cursor', 'first', 'done', ...periodParameters];
  return Object.fromEntries([...query].filter(([name]) => !left.includes(name)));
}

export interface PeriodBar {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly period: PagePeriod;
  /** True to offer all time too. */
  readonly withAll?: true;
}

/** Links to the other ranges, and two date fields for a custom one. */
export function periodBar({ path, query, period, withAll }: PeriodBar): Markup {
  const rest = unranged(query);
  const tabs: readonly (readonly [PeriodName, string])[] = [
    ...(withAll ? [['all', 'All time'] as const] : []),
    ...presets,
    ['custom', 'Custom'],
  ];
  const hrefOf = (name: PeriodName) =>
    link(path, { ...rest, range: name, ...(name === 'custom' && period.days) });
  const day = (name: 'from' | 'to', label: string) =>
    labeled(
      `range-${name}`,
      label,
      html`<input type="date" id="range-${name}" name="${name}" value="${period.days[name]}" required>`,
    );
  return html`${tabBar('Date range', tabs, period.name, hrefOf)}
${
  period.name === 'custom' &&
  html`<form method="get" action="${path}" class="filters" role="search" aria-label="Custom range">
${hiddenInputs({ range: 'custom', ...rest })}${day('from', 'From')}${day('to', 'To')}
<button class="button">Show range</button></form>`
}`;
}
