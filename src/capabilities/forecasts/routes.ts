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

export interface ForecastDependencies {
  readonly db: Database;
}

const reader = { kind: 'org', scope: 'forecasts:read', role: 'viewer' } as const;

export function forecastRoutes({ db }: ForecastDependencies): Route[] {
  return [
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
        'From up to 90 whole days of history: their mean, from a week on a trend, from three weeks on a trend and weekdays. ' +
        'Four days in five should lie within `low` and `high`, if the days to come scatter like those gone by. Today is ' +
        'the first day projected, as a whole. Days are those of the time zone of the organization.',
      access: reader,
      query: CapacityForecastQuery,
      response: CapacityForecastView,
      errors: ['not_found'],
      handler: ({ caller, query, now }) => forecastCapacity(db, caller.tenantId, query, now),
    }),
  ];
}
