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

export const ForecastsQuery = closed({
  measure: Type.Optional(choice(measureNames, 'Default: `spend`, in US dollars.')),
  ...(Object.fromEntries(
    scopeFields.map((name) => [
      name,
      Type.Optional(Type.String({ ...label, description: `Only runs with this \`${name}\`.` })),
    ]),
  ) as Record<ScopeField, ReturnType<typeof Type.Optional<typeof label>>>),
  group_by: Type.Optional(
    choice(scopeFields, 'A forecast for each of the values of this field that cost most, instead of one.'),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: groupsShown.max,
      default: groupsShown.fallback,
      description: 'How many groups.',
    }),
  ),
  horizon_days: horizon,
  history_days: Type.Optional(
    Type.Integer({
      minimum: historyDays.min,
      maximum: historyDays.max,
      default: historyDays.fallback,
      description: 'How many days to look back, at most.',
    }),
  ),
});
export type ForecastsQuery = Static<typeof ForecastsQuery>;

const amount = (description: string) =>
  Type.String({ description: `A decimal string in the unit of the measure: ${description}` });

const estimate = {
  expected: amount('what is expected.'),
  low: nullable(amount('the lower end of the band; null where there is too little history.')),
  high: nullable(amount('the upper end of the band.')),
};

const LimitOutlook = closed({
  limit_id: Type.String(),
  kind: choice(limitKinds),
  match: Type.Record(Type.String(), Type.String(), {
    description: 'Whom the limit counts; empty: everyone.',
  }),
  unit: choice(units),
  limit: amount('all of it.'),
  used: amount('settled and held, now.'),
  window_start: nullable(Type.String({ format: 'date-time', description: 'Null: it has no window.' })),
  window_end: nullable(Type.String({ format: 'date-time' })),
  expires_at: nullable(Type.String({ format: 'date-time', description: 'Of a credit pack.' })),
  runs_out_on: nullable(
    Type.String({ description: 'The day, as `YYYY-MM-DD`. Null: not within the days looked at.' }),
  ),
  earliest_on: nullable(Type.String({ description: 'The same at the upper end of the band.' })),
  latest_on: nullable(Type.String({ description: 'The same at the lower end of the band.' })),
  runs_out_in_window: Type.Boolean({
    description: 'Before the present window ends; of what has no window, within the days looked at.',
  }),
  expected_at_window_end: nullable(
    amount('what will be used of the present window when it ends. Null without one.'),
  ),
});

export const ForecastView = closed({
  scope: Type.Record(Type.String(), Type.String(), { description: 'What it is about; empty: all runs.' }),
  method: choice(methods, 'The model that did best in the backtest.'),
  quality: choice(qualities, 'How much there was to go by, for looking so far ahead.'),
  backtest: Type.Union(
    [
      closed({
        mean_absolute_error: amount('how far the method was off, of a day.'),
        seasonal_naive_error: nullable(amount('how far repeating the week before was off.')),
        origins: Type.Integer({ description: 'From how many days gone by it was tried.' }),
        days_ahead: Type.Integer({ description: 'How far ahead each time, at most.' }),
      }),
      Type.Null(),
    ],
    { description: 'Null where there are too few days for one.' },
  ),
  history: Type.Array(closed({ date, value: amount('exactly.') }), {
    description: 'Whole days, from the first with a run.',
  }),
  today: closed({ date, value: amount('so far; exactly.') }),
  forecast: Type.Array(closed({ date, ...estimate }), { description: 'The first day is today, as a whole.' }),
  total: closed(estimate),
  limits: Type.Array(LimitOutlook, {
    description: 'Limits that count just this scope, in this unit.',
  }),
});
export type ForecastView = Static<typeof ForecastView>;

export const ForecastsView = closed({
  measure: choice(measureNames),
  unit: choice(units, 'Of every amount.'),
  timezone: Type.String({ description: 'The time zone of the days.' }),
  horizon_days: Type.Integer(),
  coverage: Type.Number({ description: 'How many of the days to come should lie within their band.' }),
  data: Type.Array(ForecastView),
});
export type ForecastsView = Static<typeof ForecastsView>;
