/** The view of the usage page, read from its address: range, groupings, measure, comparison and filters. */

import { link } from '../../html.ts';
import { type PagePeriod, periodOf, periodParameters } from '../../periods.ts';
import { type FieldValue, filtersFor, travellingFilters, usageFields } from '../../run-filters.ts';
import type { ScreenVisit } from '../../screen.ts';
import { type ChartMeasure, measureOf, spendMeasure } from './usage-measures.ts';

export const usagePath = '/console/usage';
const runsPath = '/console/runs';

export const intervals = ['hour', 'day', 'month'] as const;
export type Interval = (typeof intervals)[number];

/** Parameters of the page that are not filters. */
export const viewParameters = ['group_by', 'then_by', 'measure', 'compare', ...periodParameters];

export interface UsageState {
  readonly period: PagePeriod;
  /** A field, or a tag as `tag:name`. */
  readonly groupBy: string;
  /** An interval, or a second field or tag. */
  readonly thenBy: string;
  /** The interval that fits the range, which is used unless another is chosen. */
  readonly fittingInterval: Interval;
  readonly measure: ChartMeasure;
  /** The cost is split by kind of usage: there are no runs to count. */
  readonly isByKind: boolean;
  readonly isCompared: boolean;
  readonly filters: Readonly<Record<string, string>>;
  /** Parameters of the page, without the position in the table. */
  readonly query: Readonly<Record<string, string>>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** More bars would be thinner than a pointer, and the page larger than 200 KB. */
const hoursMax = 96;
const daysMax = 92;

export function usageState(visit: ScreenVisit): UsageState {
  const { query } = visit;
  const period = periodOf(visit, '30d');
  const groupBy = query.get('group_by') || 'model';
  const { thenBy, fittingInterval } = thenByOf(query.get('then_by') ?? '', groupBy, period);
  const isByKind = [groupBy, thenBy].includes('kind') || (query.get('kind') ?? '') !== '';
  const kept = Object.fromEntries(
    ['group_by', 'then_by', 'measure', 'compare'].map((name) => [name, query.get(name) ?? '']),
  );
  const others = [...query].filter(
    ([name]) => ![...viewParameters, 'cursor', 'done', 'format', 'still'].includes(name),
  );
  return {
    period,
    groupBy,
    thenBy,
    fittingInterval,
    measure: isByKind ? spendMeasure : measureOf(query.get('measure')),
    isByKind,
    isCompared: query.get('compare') !== 'off',
    // Unknown filters are passed on, so that the API rejects them.
    filters: {
      ...Object.fromEntries(others.filter(([, value]) => value.trim() !== '')),
      ...travellingFilters(query),
    },
    query: { ...kept, ...period.query, ...Object.fromEntries(others) },
  };
}

/** Chooses hours for a day or two, months for more than a quarter of a year, and otherwise days. */
function thenByOf(
  wanted: string,
  groupBy: string,
  { api }: PagePeriod,
): Pick<UsageState, 'thenBy' | 'fittingInterval'> {
  const lengthMs = Date.parse(api.to ?? '') - Date.parse(api.from ?? '');
  const fittingInterval = lengthMs <= 2 * dayMs ? 'hour' : lengthMs > daysMax * dayMs ? 'month' : 'day';
  const isTooFine =
    (wanted === 'hour' && lengthMs > hoursMax * hourMs) || (wanted === 'day' && fittingInterval === 'month');
  const isUsable = wanted !== '' && wanted !== groupBy && !isTooFine;
  return { thenBy: isUsable ? wanted : fittingInterval, fittingInterval };
}

export function isInterval(name: string): name is Interval {
  return intervals.some((interval) => interval === name);
}

/** A link to the page with some parameters changed. */
export function usageHref(
  { query }: UsageState,
  changes: Readonly<Record<string, string | undefined>>,
): string {
  return link(usagePath, { ...query, ...changes });
}

/** The range of one point of a chart. */
export function pointRange(interval: Interval, start: string): Record<string, string> {
  if (interval === 'hour') {
    const from = new Date(start);
    return {
      range: 'custom',
      from: from.toISOString(),
      to: new Date(from.getTime() + hourMs).toISOString(),
    };
  }
  const to = interval === 'day' ? start : lastDay(start);
  return { range: 'custom', from: interval === 'day' ? start : `${start}-01`, to };
}

/** Returns the last day of a month such as `2026-11`. */
function lastDay(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
}

/** A link that narrows the page to one point of a chart; an hour leads to its runs. */
export function pointHref(state: UsageState, interval: Interval, start: string): string {
  const range = pointRange(interval, start);
  return interval === 'hour'
    ? link(runsPath, { ...state.filters, kind: undefined, ...range, sort: '-cost_usd' })
    : usageHref(state, { ...range, then_by: undefined });
}

/**
 * A link that adds filters, optionally with the range of a point. What is filtered by has one value left, so the page is then grouped by
 * another field. An hour leads to its runs.
 */
export function valueHref(
  state: UsageState,
  values: readonly FieldValue[],
  at?: { readonly interval: Interval; readonly start: string },
): string {
  const filters = filtersFor(values, state.filters);
  const range = at && pointRange(at.interval, at.start);
  if (at?.interval === 'hour') {
    return link(runsPath, { ...filters, kind: undefined, ...range, sort: '-cost_usd' });
  }
  const isTaken = (name: string) => filters[name] !== undefined || values.some(([field]) => field === name);
  const groupBy = isTaken(state.groupBy) ? usageFields.find((name) => !isTaken(name)) : state.groupBy;
  const thenBy = state.query.then_by ?? '';
  return usageHref(state, {
    ...filters,
    ...range,
    group_by: groupBy,
    then_by: range !== undefined || isTaken(thenBy) || thenBy === groupBy ? undefined : thenBy,
  });
}

/** A link to the runs of the page, with further filters, the most expensive first. Runs cannot be filtered by kind of usage. */
export function runsHref(
  { filters, period }: UsageState,
  more: Readonly<Record<string, string>> = {},
): string {
  return link(runsPath, { ...filters, ...more, kind: undefined, ...period.query, sort: '-cost_usd' });
}

/** The value of a grouping in a row of usage. */
export function groupValue(row: object, field: string): string | null {
  const values = row as Readonly<Record<string, unknown>> & { readonly tags?: Record<string, string | null> };
  return field.startsWith('tag:')
    ? (values.tags?.[field.slice('tag:'.length)] ?? null)
    : ((values[field] ?? null) as string | null);
}
