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
  value_usd: amount('value of the runs.'),
  cost_usd: amount('cost of the runs, including later corrections.'),
  return_usd: amount('value minus cost; negative with a `-`.'),
};

export const LinearForecastQuery = closed({
  deployment: Type.String({ ...label, description: 'The `deployment` of the runs.' }),
  teams: Type.Integer({ minimum: 1, maximum: teamsMax, description: 'Number of teams to project.' }),
});
export type LinearForecastQuery = Static<typeof LinearForecastQuery>;

export const LinearForecastView = closed({
  deployment: Type.String(),
  teams: Type.Integer(),
  ...figures,
  per_team: closed(figures),
  teams_observed: Type.Integer({
    minimum: 0,
    description: 'Number of different teams in the runs; 1 if there are runs but none names a team.',
  }),
  history: closed({
    from: timestamp,
    to: Type.String({ ...timestamp, description: 'Not included.' }),
    runs: Type.Integer({ minimum: 0, description: 'If 0, every figure is zero.' }),
    ...figures,
  }),
});
export type LinearForecastView = Static<typeof LinearForecastView>;

export const horizon = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: horizonDays.max,
    default: horizonDays.fallback,
    description: 'Number of days to forecast, including today.',
  }),
);
export const date = Type.String({ description: 'As `YYYY-MM-DD`.' });

export const CapacityForecastQuery = closed({
  deployment: Type.Optional(
    Type.String({ ...label, description: 'Only runs of this deployment. Default: all runs.' }),
  ),
  horizon_days: horizon,
  scenario: Type.Optional(Type.String({ ...label, description: 'Id or name of a scenario.' })),
});
export type CapacityForecastQuery = Static<typeof CapacityForecastQuery>;

const projectedUsd = closed({
  expected: amount('median, to the millionth.'),
  low: nullable(amount('lower end of the band; null if there is too little history.')),
  high: nullable(amount('upper end of the band.')),
});
const projectedCount = closed({
  expected: Type.Number({ minimum: 0, description: 'An expected value, so not an integer.' }),
  low: nullable(Type.Number({ minimum: 0 })),
  high: nullable(Type.Number({ minimum: 0 })),
});

const ahead = {
  total: closed({
    cost_usd: amount('for the whole horizon.'),
    runs: Type.Number({ minimum: 0 }),
    tokens: Type.Number({ minimum: 0 }),
  }),
  total_band: closed({ cost_usd: projectedUsd, runs: projectedCount, tokens: projectedCount }),
  days: Type.Array(closed({ date, cost_usd: projectedUsd, runs: projectedCount, tokens: projectedCount })),
};

const teamCount = nullable(Type.Integer({ minimum: 0, description: 'Null: 10,000 or more.' }));

export const TeamReturnsView = closed({
  observed: Type.Integer({ minimum: 0, description: 'Teams per week, averaged over the last four weeks.' }),
  cost_per_team_usd: amount('cost of a team over the horizon.'),
  curve: Type.Union(
    [
      closed({
        family: choice(curveFamilies, 'Value as a power of the team count, or as a saturating function.'),
        elasticity: Type.Number({
          description:
            'Growth of the value in percent if the number of teams grows by one percent from the observed count.',
        }),
        weeks: Type.Integer({ description: 'Number of weeks with value, of the last 26.' }),
        team_counts: Type.Integer({ description: 'Number of different team counts among them.' }),
        r_squared: nullable(
          Type.Number({
            description: 'Coefficient of determination of the fit; null if the team count never changed.',
          }),
        ),
        prior_weight: Type.Number({
          description:
            'From 0 to 1: weight of the general assumption, as opposed to your data, in the curve.',
        }),
        quality: choice(['low', 'fair', 'good']),
      }),
      Type.Null(),
    ],
    { description: 'Null if no run of the last 26 weeks has a value.' },
  ),
  pays_up_to: Type.Union([closed({ expected: teamCount, low: teamCount, high: teamCount }), Type.Null()], {
    description:
      'Largest team count at which the last team is worth at least its cost. Lies within `low` and `high` four ' +
      'times in five.',
  }),
  points: Type.Array(
    closed({
      teams: Type.Integer(),
      value_usd: amount('by the curve, over the horizon.'),
      cost_usd: amount('in proportion to the teams.'),
      return_usd: amount('value minus cost; negative with a `-`.'),
      return_low_usd: amount('lower end of the band.'),
      return_high_usd: amount('upper end of the band.'),
    }),
    { description: 'Points of the curve, for a chart.' },
  ),
});
export type TeamReturnsView = Static<typeof TeamReturnsView>;

export const CapacityForecastView = closed({
  deployment: nullable(Type.String({ description: 'Null: all runs.' })),
  horizon_days: Type.Integer(),
  timezone: Type.String({ description: 'Time zone of the days.' }),
  method: choice(methods, 'Model with the best backtest for the cost.'),
  quality: choice(qualities, 'Confidence, based on the amount of history for this horizon.'),
  coverage: Type.Number({ description: 'Share of forecast days that should lie within their band.' }),
  history: closed({
    from: nullable(
      Type.String({ description: 'First day with a run, as `YYYY-MM-DD`. Null without history.' }),
    ),
    to: nullable(Type.String({ description: 'Last whole day.' })),
    days: Type.Integer({ minimum: 0 }),
    runs: Type.Integer({ minimum: 0 }),
    tokens: Type.Integer({ minimum: 0 }),
    cost_usd: amount('cost of these days.'),
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
          description: 'Models of the mix without a known price: their cost is assumed to be unchanged.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'Scenario of `total`, `days` and `teams`. Null: no scenario.' },
  ),
  baseline: Type.Union([closed(ahead), Type.Null()], {
    description: 'With a scenario, the forecast without it.',
  }),
});
export type CapacityForecastView = Static<typeof CapacityForecastView>;
