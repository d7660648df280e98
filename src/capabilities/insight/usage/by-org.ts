/** Usage of whole organizations, for benchmarks: days in UTC, several organizations at once. */
import { type Histogram, readInto } from '../../../kernel/latency-histogram.ts';
import type { Queryable } from '../../../platform/db/database.ts';

/** Approximate figures, as floating-point numbers. */
export interface OrgUsage {
  readonly runs: number;
  readonly failedRuns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNanos: number;
  readonly latencies: Histogram;
  readonly runsByModel: ReadonlyMap<string, number>;
}

interface OrgModelRow {
  readonly org_id: string;
  readonly model: string;
  readonly runs: string;
  readonly failed_runs: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly usd_nanos: string;
  readonly latencies: Uint8Array;
}

/** Sums the usage since `since`, which must be the start of a day in UTC. Organizations without usage are omitted. */
export async function sumByOrgs(
  db: Queryable,
  orgIds: readonly string[],
  since: Date,
): Promise<Map<string, OrgUsage>> {
  const rows = await db.query<OrgModelRow>(
    `SELECT org_id, model, sum(requests)::text AS runs,
            coalesce(sum(requests) FILTER (WHERE status = 'failed'), 0)::text AS failed_runs,
            sum(input_tokens)::text AS input_tokens, sum(output_tokens)::text AS output_tokens,
            sum(usd_nanos)::text AS usd_nanos, string_agg(latencies, ''::bytea) AS latencies
       FROM usage_days WHERE org_id = ANY($1) AND day >= $2
      GROUP BY org_id, model`,
    [orgIds, since],
  );
  const usage = new Map<string, OrgModelRow[]>();
  for (const row of rows) {
    usage.set(row.org_id, [...(usage.get(row.org_id) ?? []), row]);
  }
  return new Map([...usage].map(([orgId, ofModels]) => [orgId, summed(ofModels)]));
}

function summed(rows: readonly OrgModelRow[]): OrgUsage {
  const sum = (of: (row: OrgModelRow) => string) => rows.reduce((total, row) => total + Number(of(row)), 0);
  const latencies: Histogram = new Map();
  for (const row of rows) {
    readInto(latencies, row.latencies, 1);
  }
  return {
    runs: sum(({ runs }) => runs),
    failedRuns: sum((row) => row.failed_runs),
    inputTokens: sum((row) => row.input_tokens),
    outputTokens: sum((row) => row.output_tokens),
    costNanos: sum((row) => row.usd_nanos),
    latencies,
    runsByModel: new Map(rows.map(({ model, runs }) => [model, Number(runs)])),
  };
}
