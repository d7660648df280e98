/** The deprecated forecast: the return of a deployment, in proportion to the number of teams. */
import { formatUsd } from '../../../kernel/money.ts';
import { bucketMs } from '../../../kernel/rollup-parts.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { sumUsage } from '../usage/index.ts';
import { projectLinearly, type Return } from './linear.ts';
import type { LinearForecastQuery, LinearForecastView } from './schema.ts';

const historyMs = 30 * 86_400_000;
/** Maximum number of teams that are counted separately; the ones with the least cost are dropped. */
const teamsObservedMax = 10_000;

export async function forecastLinearly(
  db: Queryable,
  orgId: string,
  { deployment, teams }: LinearForecastQuery,
  now: Date,
): Promise<LinearForecastView> {
  // Rounded up to a 15-minute bucket, the resolution of usage; includes the current bucket.
  const toMs = (Math.floor(now.getTime() / bucketMs) + 1) * bucketMs;
  const fromMs = toMs - historyMs;
  const { total, groups } = await sumUsage(db, {
    orgId,
    range: { fromMs, toMs },
    now,
    filters: { deployment },
    groupBy: [{ kind: 'field', name: 'team' }],
    after: undefined,
    limit: teamsObservedMax,
  });
  // Runs without a team are in the total but do not count as a team; if all runs are without a team, they count as one.
  const named = groups.filter(({ values }) => values[0] !== '').length;
  const teamsObserved = named === 0 && groups.length > 0 ? 1 : named;
  const observed = {
    valueNanos: BigInt(total.value_nanos),
    costNanos: BigInt(total.usd_nanos),
    teams: BigInt(Math.max(1, teamsObserved)),
  };
  return {
    deployment,
    teams,
    ...viewReturn(projectLinearly(observed, BigInt(teams))),
    per_team: viewReturn(projectLinearly(observed, 1n)),
    teams_observed: teamsObserved,
    history: {
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      runs: Number(total.runs),
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
