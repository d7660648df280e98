import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, created, removed } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type CapacityDependencies, forecastCapacity } from './capacity-forecast.ts';
import { forecastLinearly } from './linear-forecast.ts';
import { listScenarios } from './queries.ts';
import { CreateScenario, PatchScenario, ScenarioFilters, ScenarioView } from './scenario-schema.ts';
import {
  changeScenario,
  createScenario,
  removeScenario,
  requireScenario,
  viewScenario,
} from './scenarios.ts';
import {
  CapacityForecastQuery,
  CapacityForecastView,
  LinearForecastQuery,
  LinearForecastView,
} from './schema.ts';
import { forecastSeries, type SeriesDependencies } from './series-forecasts.ts';
import { ForecastsQuery, ForecastsView } from './series-schema.ts';

export interface ForecastDependencies extends SeriesDependencies, CapacityDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const reader = { kind: 'org', scope: 'forecasts:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'forecasts:write', role: 'admin' } as const;

export function forecastRoutes(deps: ForecastDependencies): Route[] {
  const { db, ids } = deps;
  return [
    read({
      id: 'forecasts.list',
      path: '/v1/orgs/{id}/forecasts',
      summary: 'Forecast spend, runs or tokens, and when limits run out',
      description:
        'Covers all runs, the runs of one model, workflow, deployment, department, team, customer, provider or ' +
        'key, the spend on one kind of usage, or with `group_by` each of the largest groups. Models with and without weekdays and trend are ' +
        'backtested, and the best one is used; bands come from its errors. Each limit that counts exactly this ' +
        'scope is listed with the day on which it is expected to run out.',
      access: reader,
      query: ForecastsQuery,
      response: ForecastsView,
      handler: ({ params, query, now }) => forecastSeries(deps, params.id, query, now),
    }),
    read({
      id: 'forecasts.linear',
      path: '/v1/forecast',
      summary: 'Project the return of a deployment by team count',
      description:
        "Scales the value and cost of the deployment's runs in the last 30 days from the observed number of teams " +
        'to the requested one, in proportion, without diminishing returns. Without runs every figure is zero.',
      access: reader,
      query: LinearForecastQuery,
      response: LinearForecastView,
      handler: ({ caller, query, now }) => forecastLinearly(db, caller.tenantId, query, now),
    }),
    read({
      id: 'forecasts.capacity',
      path: '/v1/capacity/forecasts',
      summary: 'Project daily spend and volume, and the return by team count',
      description:
        'Uses up to 180 whole days of history and the model with the best backtest. Four of five days should lie ' +
        'within `low` and `high`, and so should the total. Today is the first projected day, as a whole. With a ' +
        'scenario, the forecast includes its changes, and `baseline` does not. `teams` shows the effect of more ' +
        'teams, with diminishing returns, and up to which count another team pays off.',
      access: reader,
      query: CapacityForecastQuery,
      response: CapacityForecastView,
      errors: ['not_found'],
      handler: ({ caller, query, now }) => forecastCapacity(deps, caller.tenantId, query, now),
    }),
    write({
      id: 'capacity_scenarios.create',
      method: 'POST',
      path: '/v1/orgs/{id}/capacity-scenarios',
      summary: 'Create a capacity scenario',
      description: 'Combines growth, teams, model mix, prices, seasons and a new deployment as needed.',
      access: admin,
      body: CreateScenario,
      bodyLimitBytes: bodyLimits.lists,
      success: 201,
      response: ScenarioView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const row = await createScenario(tx, ids, now, params.id, body);
        return created('capacity_scenario', row, viewScenario);
      },
    }),
    read({
      id: 'capacity_scenarios.list',
      path: '/v1/orgs/{id}/capacity-scenarios',
      summary: 'List capacity scenarios',
      access: reader,
      query: ScenarioFilters,
      response: page(ScenarioView),
      handler: ({ params, query }) => viewPage(listScenarios(db, params.id, query), viewScenario),
    }),
    read({
      id: 'capacity_scenarios.read',
      path: '/v1/orgs/{id}/capacity-scenarios/{scenario_id}',
      summary: 'Get a capacity scenario',
      access: reader,
      response: ScenarioView,
      handler: async ({ params }) => viewScenario(await requireScenario(db, params.id, params.scenario_id)),
    }),
    write({
      id: 'capacity_scenarios.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/capacity-scenarios/{scenario_id}',
      summary: 'Update a capacity scenario',
      description: 'Replaces `changes` as a whole.',
      access: admin,
      body: PatchScenario,
      bodyLimitBytes: bodyLimits.lists,
      response: ScenarioView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const change = await changeScenario(tx, now, params.id, params.scenario_id, body);
        return changed('capacity_scenario', change, viewScenario);
      },
    }),
    write({
      id: 'capacity_scenarios.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/capacity-scenarios/{scenario_id}',
      summary: 'Delete a capacity scenario',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeScenario(tx, params.id, params.scenario_id);
        return removed('capacity_scenario', row, viewScenario, now);
      },
    }),
  ];
}
