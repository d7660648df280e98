import { type Static, Type } from 'typebox';
import { qualities } from '../../kernel/forecast/forecast.ts';
import { methods } from '../../kernel/forecast/models.ts';
import { choice, closed, nullable, timestamp } from '../../platform/http/schemas.ts';
import { label } from '../../platform/ledger/scope.ts';

export const teamsMax = 1_000_000;
export const horizonDays = { fallback: 30, max: 365 };

const amount = (description: string) =>
  Type.String({ description: `US dollars as a decimal string: ${description}` });

const figures = {
  value_usd: amount('what the runs were worth.'),
  cost_usd: amount('what the runs cost, with later corrections.'),
  return_usd: amount('the value less the cost; below zero with a `-`.'),
};

export const LinearForecastQuery = closed({
  deployment: Type.String({ ...label, description: 'The `deployment` of the runs to go by.' }),
  teams: Type.Integer({ minimum: 1, maximum: teamsMax, description: 'How many teams to project for.' }),
});
export type LinearForecastQuery = Static<typeof LinearForecastQuery>;

export const LinearForecastView = closed({
  deployment: Type.String(),
  teams: Type.Integer(),
  ...figures,
  per_team: closed(figures),
  teams_observed: Type.Integer({
    minimum: 0,
    description: 'Different teams that the runs name; 1 if there were runs and none of them names a team.',
  }),
  history: closed({
    from: timestamp,
    to: Type.String({ ...timestamp, description: 'Not included.' }),
    runs: Type.Integer({ minimum: 0, description: 'With none, every figure is zero.' }),
    ...figures,
  }),
});
export type LinearForecastView = Static<typeof LinearForecastView>;

export const horizon = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: horizonDays.max,
    default: horizonDays.fallback,
    description: 'How many days to look ahead, today included.',
  }),
);
export const date = Type.String({ description: 'As `YYYY-MM-DD`.' });

export const CapacityForecastQuery = closed({
  deployment: Type.Optional(
    Type.String({ ...label, description: 'Only runs of this deployment. Default: all runs.' }),
  ),
  horizon_days: horizon,
  scenario: Type.Optional(
    Type.String({
      ...label,
      description: 'The name of a scenario. There are none yet, so any is `not_found`.',
    }),
  ),
});
export type CapacityForecastQuery = Static<typeof CapacityForecastQuery>;

const projectedUsd = closed({
  expected: amount('the middle, to the millionth.'),
  low: nullable(amount('the lower end of the band; null where there is too little history.')),
  high: nullable(amount('the upper end of the band.')),
});
const projectedCount = closed({
  expected: Type.Number({ minimum: 0, description: 'An expectation, so not a whole number.' }),
  low: nullable(Type.Number({ minimum: 0 })),
  high: nullable(Type.Number({ minimum: 0 })),
});

export const CapacityForecastView = closed({
  deployment: nullable(Type.String({ description: 'Null: all runs.' })),
  horizon_days: Type.Integer(),
  timezone: Type.String({ description: 'The time zone of the days.' }),
  method: choice(methods, 'The model that told the cost best in the backtest.'),
  quality: choice(qualities, 'How much there was to go by, for looking so far ahead.'),
  coverage: Type.Number({ description: 'How many of the days to come should lie within their band.' }),
  history: closed({
    from: nullable(
      Type.String({ description: 'The first day with a run, as `YYYY-MM-DD`. Null without history.' }),
    ),
    to: nullable(Type.String({ description: 'The last whole day.' })),
    days: Type.Integer({ minimum: 0 }),
    runs: Type.Integer({ minimum: 0 }),
    tokens: Type.Integer({ minimum: 0 }),
    cost_usd: amount('what they cost.'),
  }),
  total: closed({
    cost_usd: amount('over the whole horizon.'),
    runs: Type.Number({ minimum: 0 }),
    tokens: Type.Number({ minimum: 0 }),
  }),
  total_band: closed({ cost_usd: projectedUsd, runs: projectedCount, tokens: projectedCount }),
  days: Type.Array(
    closed({
      date,
      cost_usd: projectedUsd,
      runs: projectedCount,
      tokens: projectedCount,
    }),
  ),
});
export type CapacityForecastView = Static<typeof CapacityForecastView>;
