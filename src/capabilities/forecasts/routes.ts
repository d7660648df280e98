import type { Database } from '../../platform/db/database.ts';
import { type Route, read } from '../../platform/http/route.ts';
import { forecastCapacity } from './capacity-forecast.ts';
import { forecastLinearly } from './linear-forecast.ts';
import {
  CapacityForecastQuery,
  CapacityForecastView,
  LinearForecastQuery,
  LinearForecastView,
} from './schema.ts';
import { forecastSeries, type SeriesDependencies } from './series-forecasts.ts';
import { ForecastsQuery, ForecastsView } from './series-schema.ts';

export interface ForecastDependencies extends SeriesDependencies {
  readonly db: Database;
}

const reader = { kind: 'org', scope: 'forecasts:read', role: 'viewer' } as const;

export function forecastRoutes(deps: ForecastDependencies): Route[] {
  const { db } = deps;
  return [
    read({
      id: 'forecasts.list',
      path: '/v1/orgs/{id}/forecasts',
      summary: 'Forecast spend, runs or tokens, and when limits run out',
      description:
        'Of all runs, of those of one model, workflow, deployment, department, team, customer, provider or key, or with ' +
        '`group_by` of each of the largest. Models with and without weekdays and trend are tried on the past, and the best ' +
        'is taken; bands come from how far it was off. Each limit that counts just that is told with the day on which it ' +
        'is expected to run out.',
      access: reader,
      query: ForecastsQuery,
      response: ForecastsView,
      handler: ({ params, query, now }) => forecastSeries(deps, params.id, query, now),
    }),
    read({
      id: 'forecasts.linear',
      path: '/v1/forecast',
      summary: "Project a deployment's return by team count",
      description:
        'What the runs of the deployment were worth and cost in the last 30 days, for so many teams instead of those ' +
        'observed: in proportion, without diminishing returns. Without runs every figure is zero.',
      access: reader,
      query: LinearForecastQuery,
      response: LinearForecastView,
      handler: ({ caller, query, now }) => forecastLinearly(db, caller.tenantId, query, now),
    }),
    read({
      id: 'forecasts.capacity',
      path: '/v1/capacity/forecasts',
      summary: 'Project spend and volume day by day',
      description:
        'From up to 180 whole days of history, by the model that would have told the last weeks best. Four days in five should ' +
        'lie within `low` and `high`, and so should the total. Today is the first day projected, as a whole. Days are those of ' +
        'the time zone of the organization.',
      access: reader,
      query: CapacityForecastQuery,
      response: CapacityForecastView,
      errors: ['not_found'],
      handler: ({ caller, query, now }) => forecastCapacity(db, caller.tenantId, query, now),
    }),
  ];
}
