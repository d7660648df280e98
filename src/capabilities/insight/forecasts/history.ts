/** Usage of each whole day before today, and of today so far. */
import { type UsageDimension, usageDimensions } from '../../../contract/run-dimensions.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { sumUsage, type UsageGroup } from '../usage/index.ts';
import { daysBefore, type Today } from './calendar.ts';

/** Dimensions that a forecast can be restricted to. */
export type ScopeField = Exclude<UsageDimension, 'status'>;
export const scopeFields: readonly ScopeField[] = usageDimensions.filter((name) => name !== 'status');
export type ScopeFilter = Readonly<Partial<Record<ScopeField, string>>>;

export type DayOfUse = Pick<
  UsageGroup,
  'runs' | 'input_tokens' | 'output_tokens' | 'usd_nanos' | 'value_nanos'
>;

export interface History {
  /** One entry per day from the first day with a run to yesterday, including days without runs. */
  readonly days: readonly DayOfUse[];
  readonly today: DayOfUse;
}

export interface HistoryWanted {
  readonly orgId: string;
  readonly scope: ScopeFilter;
  /** Code of the kind of usage whose cost counts. */
  readonly part?: string | undefined;
  readonly today: Today;
  readonly now: Date;
  readonly daysMax: number;
}

const nothing: DayOfUse = {
  runs: '0',
  input_tokens: '0',
  output_tokens: '0',
  usd_nanos: '0',
  value_nanos: '0',
};

export async function readHistory(
  db: Queryable,
  { orgId, scope, part, today, now, daysMax }: HistoryWanted,
): Promise<History> {
  const starts = [...daysBefore(today, daysMax), today.startMs];
  const { groups } = await sumUsage(db, {
    orgId,
    range: { fromMs: starts[0] as number, toMs: today.endMs },
    now,
    filters: scope,
    part,
    groupBy: [{ kind: 'span', name: 'day', startsMs: starts }],
    after: undefined,
    limit: starts.length,
  });
  // Spans are numbered from 1; the last one is today.
  const byPlace = new Map(groups.map((sums) => [Number(sums.values[0]), sums]));
  const first = Math.min(starts.length, ...byPlace.keys());
  return {
    days: Array.from({ length: starts.length - first }, (_, index) => byPlace.get(first + index) ?? nothing),
    today: byPlace.get(starts.length) ?? nothing,
  };
}
