import { type Static, Type } from 'typebox';
import { qualities } from '../../../kernel/forecast/forecast.ts';
import { methods } from '../../../kernel/forecast/models.ts';
import { limitKinds, units } from '../../../kernel/limits.ts';
import { label } from '../../../ledger/scope.ts';
import { choice, closed, nullable } from '../../../platform/http/routes/schemas.ts';
import { type ScopeField, scopeFields } from './history.ts';
import { measureNames } from './measures.ts';
import { date, horizon } from './schema.ts';

export const historyDays = { min: 7, fallback: 180, max: 730 };
export const groupsShown = { fallback: 10, max: 20 };

/** Fields that a series can be restricted to or grouped by. */
export const seriesFields = [...scopeFields, 'kind'] as const;
export type SeriesField = (typeof seriesFields)[number];

export const ForecastsQuery = closed({
  measure: Type.Optional(choice(measureNames, 'Default: `spend`, in US dollars.')),
  ...(Object.fromEntries(
    scopeFields.map((name) => [
      name,
      Type.Optional(Type.String({ ...label, description: `Only runs with this \`${name}\`.` })),
    ]),
  ) as Record<ScopeField, ReturnType<typeof Type.Optional<typeof label>>>),
  kind: Type.Optional(
    Type.String({
      ...label,
      description:
        'Only the spend on this kind of usage, as in usage. Limits do not count kinds: none is listed.',
      examples: ['cached_input'],
    }),
  ),
  group_by: Type.Optional(
    choice(seriesFields, 'Returns one forecast for each of the values of this field with the highest cost.'),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: groupsShown.max,
      default: groupsShown.fallback,
      description: 'Number of groups.',
    }),
  ),
  horizon_days: horizon,
  history_days: Type.Optional(
    Type.Integer({
      minimum: historyDays.min,
      maximum: historyDays.max,
      default: historyDays.fallback,
      description: 'Maximum number of days of history.',
    }),
  ),
});
export type ForecastsQuery = Static<typeof ForecastsQuery>;

const amount = (description: string) =>
  Type.String({ description: `A decimal string in the unit of the measure: ${description}` });

const estimate = {
  expected: amount('expected amount.'),
  low: nullable(amount('lower end of the band; null if there is too little history.')),
  high: nullable(amount('upper end of the band.')),
};

const LimitOutlook = closed({
  limit_id: Type.String(),
  kind: choice(limitKinds),
  match: Type.Record(Type.String(), Type.String(), {
    description: 'Fields that the limit matches; empty: all runs.',
  }),
  unit: choice(units),
  limit: amount('capacity of the limit.'),
  used: amount('settled and held, now.'),
  window_start: nullable(Type.String({ format: 'date-time', description: 'Null: the limit has no window.' })),
  window_end: nullable(Type.String({ format: 'date-time' })),
  expires_at: nullable(Type.String({ format: 'date-time', description: 'Only for a credit pack.' })),
  runs_out_on: nullable(
    Type.String({ description: 'The day, as `YYYY-MM-DD`. Null: not within the forecast.' }),
  ),
  earliest_on: nullable(Type.String({ description: 'The same at the upper end of the band.' })),
  latest_on: nullable(Type.String({ description: 'The same at the lower end of the band.' })),
  runs_out_in_window: Type.Boolean({
    description: 'Before the current window ends; without a window, within the forecast.',
  }),
  expected_at_window_end: nullable(
    amount(
      'predicted usage at the end of the current window. Null without a window, or if it ends after the forecast.',
    ),
  ),
});

export const ForecastView = closed({
  scope: Type.Record(Type.String(), Type.String(), {
    description: 'Filter of the forecast; empty: all runs.',
  }),
  method: choice(methods, 'Model with the best backtest.'),
  quality: choice(qualities, 'Confidence, based on the amount of history for this horizon.'),
  backtest: Type.Union(
    [
      closed({
        mean_absolute_error: amount('mean error per day of the model.'),
        seasonal_naive_error: nullable(amount('mean error per day of repeating the previous week.')),
        origins: Type.Integer({ description: 'Number of days in the past that forecasts started from.' }),
        days_ahead: Type.Integer({ description: 'Maximum number of days ahead in each backtest.' }),
      }),
      Type.Null(),
    ],
    { description: 'Null if there are too few days for a backtest.' },
  ),
  history: Type.Array(closed({ date, value: amount('exactly.') }), {
    description: 'Whole days, from the first with a run.',
  }),
  today: closed({ date, value: amount('so far, exact.') }),
  forecast: Type.Array(closed({ date, ...estimate }), { description: 'The first day is today, as a whole.' }),
  total: closed(estimate),
  limits: Type.Array(LimitOutlook, {
    description: 'Limits that count exactly this scope, in this unit.',
  }),
});
export type ForecastView = Static<typeof ForecastView>;

export const ForecastsView = closed({
  measure: choice(measureNames),
  unit: choice(units, 'Unit of all amounts.'),
  timezone: Type.String({ description: 'Time zone of the days.' }),
  horizon_days: Type.Integer(),
  coverage: Type.Number({ description: 'Share of forecast days that should lie within their band.' }),
  data: Type.Array(ForecastView),
});
export type ForecastsView = Static<typeof ForecastsView>;
