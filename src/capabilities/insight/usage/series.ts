/** Usage over time by the values with the highest cost, as charts show it. */
import { invalidField } from '../../../contract/api-error.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { findTimezone, type RankedGroup, sumUsage } from './queries.ts';
import type { GroupBy, RowsRequest } from './rows.ts';
import { defaultTop, pointsMax, type UsageSeriesQuery, type UsageSeriesView } from './series-schema.ts';
import { spanLabel, spanStarts } from './time-spans.ts';
import { conditionsOf, parseDimension, usageRange, viewRange } from './usage.ts';
import { shownValue, viewSums } from './view.ts';

type UsageSeriesItem = UsageSeriesView['series'][number];
type SeriesPoint = NonNullable<UsageSeriesItem['points'][number]>;

export async function readUsageSeries(
  db: Queryable,
  orgId: string,
  query: UsageSeriesQuery,
  now: Date,
): Promise<UsageSeriesView> {
  const { interval = 'day', top = defaultTop, latency = false } = query;
  const grouping = parseGrouping(query.group_by);
  const timezone = await findTimezone(db, orgId);
  const range = usageRange(query, timezone, now);
  const startsMs = spanStarts(interval, timezone, range);
  if (startsMs.length > pointsMax) {
    throw invalidField('interval', 'out_of_range', `Must give at most ${pointsMax} points in the range.`);
  }
  const rows: RowsRequest = { orgId, now, range, ...conditionsOf(query), groupBy: [] };
  const values = grouping === undefined ? [] : await topValues(db, rows, grouping, top);
  const span: GroupBy = { kind: 'span', name: interval, startsMs };
  const { groups } = await sumUsage(db, {
    ...rows,
    groupBy: grouping === undefined ? [span] : [span, { ...grouping, among: values }],
    after: undefined,
    limit: startsMs.length * (values.length + 2),
    latencies: latency,
  });
  const seriesOf = (
    kind: UsageSeriesItem['kind'],
    place: number | undefined,
    value: string | null = null,
  ): UsageSeriesItem => ({
    kind,
    value,
    points: pointsOf(
      groups.filter(({ values: [, at] }) => place === undefined || Number(at) === place),
      startsMs.length,
      latency,
    ),
  });
  const series =
    grouping === undefined
      ? [seriesOf('all', undefined)]
      : [
          ...values.map((value, index) => seriesOf('value', index + 1, shownValue(grouping, value))),
          seriesOf('other', -1),
          seriesOf('unset', 0),
        ];
  return {
    ...viewRange(range),
    timezone,
    interval,
    points: startsMs.map((ms) => spanLabel(interval, timezone, ms)),
    series: series.filter(({ points }) => points.some((point) => point !== null)),
  };
}

function parseGrouping(text: string | undefined): Exclude<GroupBy, { kind: 'span' }> | undefined {
  const grouping = text === undefined ? undefined : parseDimension(text);
  if (text !== undefined && (grouping === undefined || grouping.kind === 'span')) {
    throw invalidField(
      'group_by',
      'invalid_value',
      'Must be one field of runs or a tag; time is the `interval`.',
    );
  }
  return grouping as Exclude<GroupBy, { kind: 'span' }> | undefined;
}

/** Returns the values with the highest cost. Runs without a value have a series of their own. */
async function topValues(
  db: Queryable,
  rows: RowsRequest,
  grouping: GroupBy,
  top: number,
): Promise<readonly string[]> {
  const { groups } = await sumUsage(db, {
    ...rows,
    groupBy: [grouping],
    after: undefined,
    limit: top + 1,
  });
  return groups
    .map(({ values: [value = ''] }) => value)
    .filter((value) => value !== '')
    .slice(0, top);
}

function pointsOf(groups: readonly RankedGroup[], length: number, latency: boolean): (SeriesPoint | null)[] {
  const points: (SeriesPoint | null)[] = Array.from({ length }, () => null);
  for (const group of groups) {
    const sums = viewSums(group);
    points[Number(group.values[0]) - 1] = {
      runs: sums.runs,
      failed_runs: sums.failed_runs,
      input_tokens: sums.input_tokens,
      output_tokens: sums.output_tokens,
      cost_usd: sums.cost_usd,
      value_usd: sums.value_usd,
      cache_savings_usd: sums.cache_savings_usd,
      ...(latency && { latency_p95_ms: sums.latency_p95_ms }),
    };
  }
  return points;
}
