/** The chart of the usage page: a measure over time or by a second field, in parts. */
import { type BarPart, barChart } from '../../charts/bars.ts';
import { lineChart } from '../../charts/line.ts';
import { shortDate } from '../../format.ts';
import type { Markup } from '../../html.ts';
import { fieldName } from '../../limit-names.ts';
import type { UsageItem, UsageSeriesResponse } from '../../views.ts';
import { type ChartMeasure, type MeasureSums, spendMeasure } from './usage-measures.ts';
import { groupValue, type Interval, pointHref, type UsageState, valueHref } from './usage-view.ts';

type ChartedSeries = UsageSeriesResponse['series'][number];

const partsMax = 6;
const barsMax = 12;
export type NameOf = (field: string, value: string | null) => string;

const intervalNames: Readonly<Record<Interval, string>> = { hour: 'hour', day: 'day', month: 'month' };

/** A measure per hour, day or month. What adds up is stacked; the rest is drawn as lines. */
export function chartOverTime(
  state: UsageState,
  { interval, points, series }: UsageSeriesResponse,
  nameOf: NameOf,
): Markup {
  const { groupBy, measure } = state;
  const labels = points.map((start) => pointLabel(interval, start, points));
  const title = `${measure.label} per ${intervalNames[interval]}, by ${fieldName(groupBy)}`;
  const hrefAt = (index: number) => pointHref(state, interval, points[index] ?? '');
  const named = series.map((one, index) => ({
    one,
    name: one.kind === 'other' ? 'Other' : nameOf(groupBy, one.value),
    className: one.kind === 'other' ? 'series-6' : one.kind === 'unset' ? 'series-8' : seriesClass(index),
    href: one.kind === 'other' ? undefined : valueHref(state, [[groupBy, one.value]]),
  }));
  const common = {
    id: 'usage',
    title,
    size: 'full',
    labels,
    formatTick: measure.formatTick,
    format: measure.format,
    summary: summaryOf(state, series, labels, nameOf),
  } as const;
  if (!measure.isSum) {
    return lineChart({
      ...common,
      ...(measure.name === 'return' && { showsNegative: true }),
      lines: named.map(({ one, ...line }) => ({
        ...line,
        values: one.points.map((point) => (point === null ? null : measure.of(point))),
      })),
      pointHref: hrefAt,
    });
  }
  return barChart({
    ...common,
    parts: named.map(({ one, ...part }) => ({
      ...part,
      values: one.points.map((point) => (point === null ? 0 : (measure.of(point) ?? 0))),
      ...(one.kind !== 'other' && {
        segmentHref: (index: number) =>
          valueHref(state, [[groupBy, one.value]], { interval, start: points[index] ?? '' }),
      }),
    })),
    barHref: hrefAt,
  });
}

/** The sixth color is grey, which stands for what has no name. */
function seriesClass(index: number): string {
  return index < 5 ? `series-${index + 1}` : 'series-7';
}

function pointLabel(interval: Interval, start: string, points: readonly string[]): string {
  switch (interval) {
    case 'hour': {
      const isOneDay = points[0]?.slice(0, 10) === points.at(-1)?.slice(0, 10);
      const time = start.slice(11, 16);
      return isOneDay ? time : `${shortDate(start.slice(0, 10))} ${time}`;
    }
    case 'day':
      return shortDate(start);
    case 'month':
      return `${shortDate(`${start}-01`).slice(2)} ${start.slice(0, 4)}`;
  }
}

function summaryOf(
  { measure, groupBy }: UsageState,
  series: readonly ChartedSeries[],
  labels: readonly string[],
  nameOf: NameOf,
): string {
  const sums = labels.map((_, index) =>
    series.reduce((sum, { points }) => sum + costOf(measure, points[index] ?? null), 0),
  );
  const highest = sums.indexOf(Math.max(...sums));
  const [first] = series.filter(({ kind }) => kind === 'value');
  const most =
    first === undefined ? '' : ` Most spend: ${fieldName(groupBy)} ${nameOf(groupBy, first.value)}.`;
  const by = measure.isSum ? measure : spendMeasure;
  return labels.length === 0 || sums.every((sum) => sum === 0)
    ? 'No runs in this range.'
    : `Highest ${by.label.toLowerCase()}: ${by.format(sums[highest] ?? 0)}, ${labels[highest]}.${most}`;
}

function costOf(measure: ChartMeasure, point: MeasureSums | null): number {
  return point === null ? 0 : ((measure.isSum ? measure : spendMeasure).of(point) ?? 0);
}

/** A bar per value of the first field, in parts by the second; `totals` are those of the bars. */
export function chartByFields(
  state: UsageState,
  totals: readonly UsageItem[],
  pairs: readonly UsageItem[],
  nameOf: NameOf,
): Markup {
  const { groupBy, thenBy, measure } = state;
  const bars = totals.slice(0, barsMax);
  const values = bars.map((row) => groupValue(row, groupBy));
  const labels = values.map((value) => nameOf(groupBy, value));
  const title = measure.isSum
    ? `${measure.label} by ${fieldName(groupBy)} and ${fieldName(thenBy)}`
    : `${measure.label} by ${fieldName(groupBy)}`;
  return barChart({
    id: 'usage',
    title,
    size: 'full',
    isOverTime: false,
    summary:
      labels[0] === undefined ? 'No runs in this range.' : `Most spend: ${fieldName(groupBy)} ${labels[0]}.`,
    labels: labels.map((label) => (label.length > 14 ? `${label.slice(0, 13)}…` : label)),
    parts: measure.isSum
      ? partsOf(state, bars, pairs, nameOf)
      : [
          {
            name: measure.label,
            className: 'series-1',
            values: bars.map((row) => Math.max(0, measure.of(row) ?? 0)),
          },
        ],
    barHref: (index) => valueHref(state, [[groupBy, values[index] ?? null]]),
    formatTick: measure.formatTick,
    format: measure.format,
  });
}

function partsOf(
  state: UsageState,
  bars: readonly UsageItem[],
  pairs: readonly UsageItem[],
  nameOf: NameOf,
): BarPart[] {
  const { groupBy, thenBy, measure } = state;
  const costs = new Map<string | null, number>();
  for (const row of pairs) {
    const value = groupValue(row, thenBy);
    costs.set(value, (costs.get(value) ?? 0) + Number(row.cost_usd));
  }
  const top = [...costs]
    .filter(([value]) => value !== null)
    .sort((a, b) => b[1] - a[1])
    .slice(0, partsMax)
    .map(([value]) => value);
  const shown = costs.has(null) ? [...top, null] : top;
  const valueAt = (bar: UsageItem, value: string | null) => {
    const row = pairs.find(
      (one) => groupValue(one, groupBy) === groupValue(bar, groupBy) && groupValue(one, thenBy) === value,
    );
    return row === undefined ? 0 : (measure.of(row) ?? 0);
  };
  const parts: BarPart[] = shown.map((value, index) => ({
    name: nameOf(thenBy, value),
    className: value === null ? 'series-8' : seriesClass(index),
    values: bars.map((bar) => valueAt(bar, value)),
    href: valueHref(state, [[thenBy, value]]),
    segmentHref: (at) =>
      valueHref(state, [
        [groupBy, groupValue(bars[at] ?? {}, groupBy)],
        [thenBy, value],
      ]),
  }));
  const others = bars.map((bar, index) =>
    parts.reduce((rest, { values }) => rest - (values[index] ?? 0), measure.of(bar) ?? 0),
  );
  return others.some((rest) => rest > 1e-9)
    ? [
        ...parts,
        { name: 'Other', className: 'series-6', values: others.map((rest) => (rest > 1e-9 ? rest : 0)) },
      ]
    : parts;
}
