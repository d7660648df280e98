import type { Queryable } from '../../platform/db/database.ts';

export interface DeploymentSums {
  readonly runs: string;
  readonly usd_nanos: string;
  readonly value_nanos: string;
  /** Runs that name no team are in the sums and not in here. */
  readonly teams: string;
}

export async function sumDeployment(
  db: Queryable,
  orgId: string,
  deployment: string,
  from: Date,
  to: Date,
): Promise<DeploymentSums> {
  const [row] = await db.query<DeploymentSums>(
    `SELECT coalesce(sum(requests), 0)::text AS runs, coalesce(sum(usd_nanos), 0)::text AS usd_nanos,
            coalesce(sum(value_nanos), 0)::text AS value_nanos,
            count(DISTINCT team) FILTER (WHERE team <> '')::text AS teams
       FROM usage_rollups
      WHERE org_id = $1 AND bucket >= $2 AND bucket < $3 AND deployment = $4`,
    [orgId, from, to, deployment],
  );
  return row ?? { runs: '0', usd_nanos: '0', value_nanos: '0', teams: '0' };
}

export interface DaySums {
  /** Which of the days it is, from 1. */
  readonly place: number;
  readonly runs: string;
  readonly tokens: string;
  readonly usd_nanos: string;
}

/** One row for each day on which something was booked. `starts` are the days' beginnings, in order; `end` is the last's end. */
export function sumDays(
  db: Queryable,
  orgId: string,
  deployment: string | undefined,
  starts: readonly Date[],
  end: Date,
): Promise<DaySums[]> {
  return db.query<DaySums>(
    `SELECT width_bucket(bucket, $2::timestamptz[]) AS place, sum(requests)::text AS runs,
            sum(input_tokens + output_tokens)::text AS tokens, sum(usd_nanos)::text AS usd_nanos
       FROM usage_rollups
      WHERE org_id = $1 AND bucket >= $3 AND bucket < $4 AND ($5::text IS NULL OR deployment = $5)
      GROUP BY place ORDER BY place`,
    [orgId, starts, starts[0], end, deployment ?? null],
  );
}
