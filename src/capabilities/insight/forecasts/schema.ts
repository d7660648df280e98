import { type Static, Type } from 'typebox';
import { qualities } from '../../../kernel/forecast/forecast.ts';
import { methods } from '../../../kernel/forecast/models.ts';
import { curveFamilies } from '../../../kernel/forecast/returns-curve.ts';
import { label } from '../../../ledger/scope.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { ScenarioChanges } from './scenario-schema.ts';

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
    Type.String({ ...label, description: 'The id or the name of a scenario to forecast with.' }),
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

const ahead = {
  total: closed({
    cost_usd: amount('over the whole horizon.'),
    runs: Type.Number({ minimum: 0 }),
    tokens: Type.Number({ minimum: 0 }),
  }),
  total_band: closed({ cost_usd: projectedUsd, runs: projectedCount, tokens: projectedCount }),
  days: Type.Array(closed({ date, cost_usd: projectedUsd, runs: projectedCount, tokens: projectedCount })),
};

const teamCount = nullable(
  Type.Integer({ minimum: 0, description: 'Null: more than anybody plans for, 10,000 or more.' }),
);

export const TeamReturnsView = closed({
  observed: Type.Integer({ minimum: 0, description: 'Teams in a week, as a mean of the last four.' }),
  cost_per_team_usd: amount('what a team costs over the horizon.'),
  curve: Type.Union(
    [
      closed({
        family: choice(curveFamilies, 'Value as a power of the team count, or as one that saturates.'),
        elasticity: Type.Number({
          description:
            'By how many percent the value grows with one percent more teams, from those observed on.',
        }),
        weeks: Type.Integer({ description: 'Weeks with value, of the last 26.' }),
        team_counts: Type.Integer({ description: 'Different team counts among them.' }),
        r_squared: nullable(
          Type.Number({ description: 'Of the fit; null where the team count never differed.' }),
        ),
        prior_weight: Type.Number({
          description: 'From 0 to 1: how much of the curve is what is believed of any organization.',
        }),
        quality: choice(['low', 'fair', 'good']),
      }),
      Type.Null(),
    ],
    { description: 'Null where no run of the last 26 weeks says what it was worth.' },
  ),
  pays_up_to: Type.Union([closed({ expected: teamCount, low: teamCount, high: teamCount }), Type.Null()], {
    description:
      'The largest team count whose last team is worth at least what it costs. Four times in five it lies within `low` and `high`.',
  }),
  points: Type.Array(
    closed({
      teams: Type.Integer(),
      value_usd: amount('by the curve, over the horizon.'),
      cost_usd: amount('in proportion to the teams.'),
      return_usd: amount('the value less the cost; below zero with a `-`.'),
      return_low_usd: amount('the lower end of the band.'),
      return_high_usd: amount('the upper end of the band.'),
    }),
    { description: 'The curve, for a chart.' },
  ),
});
export type TeamReturnsView = Static<typeof TeamReturnsView>;

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
  ...ahead,
  teams: TeamReturnsView,
  scenario: Type.Union(
    [
      closed({
        id,
        name: Type.String(),
        changes: ScenarioChanges,
        unpriced_models: Type.Array(Type.String(), {
          description: 'Models of the mix whose price is not known: their part is taken to cost what it did.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'The one that `total`, `days` and `teams` are of. Null: things stay as they are.' },
  ),
  baseline: Type.Union([closed(ahead), Type.Null()], {
    description: 'With a scenario, the same without it.',
  }),
});
export type CapacityForecastView = Static<typeof CapacityForecastView>;
