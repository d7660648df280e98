/** The deprecated forecast: a deployment's return, in proportion to the number of teams. */
import { formatUsd } from '../../kernel/money.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { bucketMs } from '../../platform/ledger/counters.ts';
import { projectLinearly, type Return } from './linear.ts';
import { sumDeployment } from './queries.ts';
import type { LinearForecastQuery, LinearForecastView } from './schema.ts';

const historyMs = 30 * 86_400_000;

export async function forecastLinearly(
  db: Queryable,
  orgId: string,
  { deployment, teams }: LinearForecastQuery,
  now: Date,
): Promise<LinearForecastView> {
  // In whole quarters of an hour, which is as finely as usage is summed; the one that goes on is in it.
  const to = new Date((Math.floor(now.getTime() / bucketMs) + 1) * bucketMs);
  const from = new Date(to.getTime() - historyMs);
  const sums = await sumDeployment(db, orgId, deployment, from, to);
  const teamsObserved = sums.teams === '0' && sums.runs !== '0' ? 1 : Number(sums.teams);
  const observed = {
    valueNanos: BigInt(sums.value_nanos),
    costNanos: BigInt(sums.usd_nanos),
    teams: BigInt(Math.max(1, teamsObserved)),
  };
  return {
    deployment,
    teams,
    ...viewReturn(projectLinearly(observed, BigInt(teams))),
    per_team: viewReturn(projectLinearly(observed, 1n)),
    teams_observed: teamsObserved,
    history: {
      from: from.toISOString(),
      to: to.toISOString(),
      runs: Number(sums.runs),
      ...viewReturn(projectLinearly(observed, observed.teams)),
    },
  };
}

function viewReturn({ valueNanos, costNanos, returnNanos }: Return) {
  return {
    value_usd: formatUsd(valueNanos),
    cost_usd: formatUsd(costNanos),
    return_usd: formatUsd(returnNanos),
  };
}
