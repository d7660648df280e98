/**
 * Forecasts of spend, runs or tokens for everything, for one scope, or for the largest groups, and the limits that run
 * out.
 */
import { invalidField, invalidFields } from '../../../contract/api-error.ts';
import { kindOfCode } from '../../../kernel/cost-parts.ts';
import { coverage } from '../../../kernel/forecast/bands.ts';
import { type Estimate, type Forecast, forecast, qualityFor } from '../../../kernel/forecast/forecast.ts';
import type { OrgLimits } from '../../../kernel/limits.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { partOf, sumUsage } from '../usage/index.ts';
import { dateOf, daysBefore, type Today, todayIn } from './calendar.ts';
import { type History, readHistory } from './history.ts';
import { daysUntilEnds, limitsNow, limitsOfScope, outlooks, viewOutlook } from './limit-outlook.ts';
import { type ForecastMeasure, measures } from './measures.ts';
import { horizonDays } from './schema.ts';
import {
  type ForecastsQuery,
  type ForecastsView,
  type ForecastView,
  groupsShown,
  historyDays,
  type SeriesField,
  seriesFields,
} from './series-schema.ts';

export interface SeriesDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
  readonly orgLimits: Pick<OrgLimitsCache, 'get'>;
}

interface SeriesForecastRequest {
  readonly measure: ForecastMeasure;
  readonly limits: OrgLimits;
  readonly today: Today;
  readonly now: Date;
  readonly horizon: number;
  readonly historyDaysMax: number;
}

export async function forecastSeries(
  deps: SeriesDependencies,
  orgId: string,
  query: ForecastsQuery,
  now: Date,
): Promise<ForecastsView> {
  const scope = scopeIn(query);
  const isByKind = scope.kind !== undefined || query.group_by === 'kind';
  if (isByKind && query.measure !== undefined && query.measure !== 'spend') {
    throw invalidField('measure', 'invalid_value', 'Kinds of usage have a spend only.');
  }
  const limits = await deps.orgLimits.get(orgId);
  const wanted: SeriesForecastRequest = {
    measure: measures[query.measure ?? 'spend'],
    limits,
    today: todayIn(limits.timezone, now.getTime()),
    now,
    horizon: query.horizon_days ?? horizonDays.fallback,
    historyDaysMax: query.history_days ?? historyDays.fallback,
  };
  const scopes =
    query.group_by === undefined
      ? [scope]
      : await largest(deps.db, wanted, query.group_by, query.limit ?? groupsShown.fallback);
  const data: ForecastView[] = [];
  const yielder = createYielder();
  for (const one of scopes) {
    data.push(await forecastScope(deps, wanted, one));
    await yielder.yieldIfDue();
  }
  return {
    measure: wanted.measure.name,
    unit: wanted.measure.unit,
    timezone: limits.timezone,
    horizon_days: wanted.horizon,
    coverage,
    data,
  };
}

type SeriesScope = Readonly<Partial<Record<SeriesField, string>>>;

/** Accepts at most one filter, and none together with `group_by`, because most limits match one field. */
function scopeIn(query: ForecastsQuery): SeriesScope {
  const given = seriesFields.filter((name) => query[name] !== undefined);
  const surplus = query.group_by === undefined ? given.slice(1) : given;
  if (surplus.length > 0) {
    throw invalidFields(
      surplus.map((field) => ({
        field,
        code: 'too_many',
        message: 'Use a single filter, or `group_by` without a filter.',
      })),
    );
  }
  return Object.fromEntries(given.map((name) => [name, query[name]]));
}

/** Returns the values with the highest cost. Runs without a value are in no group. */
async function largest(
  db: Database,
  { limits, today, now, historyDaysMax }: SeriesForecastRequest,
  field: SeriesField,
  count: number,
): Promise<SeriesScope[]> {
  const { groups } = await sumUsage(db, {
    orgId: limits.orgId,
    range: { fromMs: daysBefore(today, historyDaysMax)[0] as number, toMs: today.endMs },
    now,
    filters: {},
    groupBy: [field === 'kind' ? { kind: 'part', name: field } : { kind: 'field', name: field }],
    after: undefined,
    limit: count + 1,
  });
  return groups
    .flatMap(({ values: [value = ''] }) =>
      value === '' ? [] : [{ [field]: field === 'kind' ? kindOfCode(value) : value }],
    )
    .slice(0, count);
}

async function forecastScope(
  deps: SeriesDependencies,
  wanted: SeriesForecastRequest,
  scope: SeriesScope,
): Promise<ForecastView> {
  const { kind, ...filter } = scope;
  const { measure, limits, today, now, horizon } = wanted;
  const { orgId } = limits;
  const history = await readHistory(deps.db, {
    orgId,
    scope: filter,
    part: kind === undefined ? undefined : partOf(kind),
    today,
    now,
    daysMax: wanted.historyDaysMax,
  });
  const nowMs = now.getTime();
  // Limits do not count kinds.
  const ofScope = kind === undefined ? limitsOfScope(limits, filter, measure, nowMs) : [];
  const current = await limitsNow(deps, limits, filter, ofScope, nowMs);
  const days = Math.max(horizon, daysUntilEnds(ofScope, limits.timezone, today, horizonDays.max));
  const ahead = forecast(
    history.days.map((day) => Number(measure.of(day))),
    days,
  );
  return {
    scope: { ...scope } as Record<string, string>,
    method: ahead.method,
    quality: qualityFor(history.days.length, horizon),
    backtest: viewBacktest(ahead, measure),
    ...viewDays(history, ahead, { measure, today, horizon }),
    limits: outlooks(current, ahead, today, limits.timezone).map((one) => viewOutlook(one, measure, today)),
  };
}

type ShownForecast = Pick<SeriesForecastRequest, 'measure' | 'today' | 'horizon'>;

function viewDays(
  { days, today: soFar }: History,
  ahead: Forecast,
  { measure, today, horizon }: ShownForecast,
) {
  const estimate = ({ expected, low, high }: Estimate) => ({
    expected: measure.estimate(expected),
    low: low === null ? null : measure.estimate(low),
    high: high === null ? null : measure.estimate(high),
  });
  return {
    history: days.map((day, index) => ({
      date: dateOf(today.number - days.length + index),
      value: measure.exact(measure.of(day)),
    })),
    today: { date: dateOf(today.number), value: measure.exact(measure.of(soFar)) },
    forecast: ahead.days.slice(0, horizon).map((day, index) => ({
      date: dateOf(today.number + index),
      ...estimate(day),
    })),
    total: estimate(ahead.sums[horizon - 1] as Estimate),
  };
}

function viewBacktest({ backtest }: Forecast, measure: ForecastMeasure): ForecastView['backtest'] {
  if (backtest === undefined) {
    return null;
  }
  const { meanAbsoluteError, seasonalNaiveError, origins, stepsAhead } = backtest;
  return {
    mean_absolute_error: measure.estimate(meanAbsoluteError),
    seasonal_naive_error: seasonalNaiveError === null ? null : measure.estimate(seasonalNaiveError),
    origins,
    days_ahead: stepsAhead,
  };
}
