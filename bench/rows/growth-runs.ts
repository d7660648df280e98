/** Latency of reads with many runs: the first page of the list, and a page of usage. */
import { performance } from 'node:perf_hooks';
import { ensureMonths } from '../../src/ledger/partitions.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { readMigrations } from '../../src/platform/db/migrate.ts';
import type { BenchOrg } from '../bench-org.ts';
import { type LoadRequest, load, percentile } from '../load.ts';
import type { PairsRow, RowOptions, Sample } from '../measure.ts';
import { type ServiceProcess, startService } from '../processes.ts';
import { keyIdOf, patiently, seededDirectory, seedOrgs } from '../seed.ts';

const size = { full: 1_000_000, small: 50_000, floor: 10_000 };
const days = 90;
const runsPerStatement = 50_000;

export const growthRuns: PairsRow = {
  kind: 'pairs',
  name: 'growth-runs',
  what: `the first page of runs, by time, by cost and by cost within 30 days, and usage of 30 days by workflow, by workflow and model, by hour, by hour and model, and from a noon on, of an org with ${size.full} runs over ${days} days; embedded engine, one connection`,
  floor: `the same of an org with ${size.floor} runs over as many days, same service`,
  toReach: {
    'run list p50 ms': { atMost: 2 },
    'run list by cost p50 ms': { atMost: 2 },
    'usage p50 ms': { atMost: 2 },
    'usage by two p50 ms': { atMost: 2 },
    'usage by hour p50 ms': { atMost: 2 },
  },
  shrinks: true,
  async prepare({ small, progress }) {
    const { dataDir, seeded } = await seededDirectory((db) =>
      fill(db, small ? size.small : size.full, progress),
    );
    const service = await startService({ settings: { SVC_DATA_DIR: dataDir } });
    return {
      service: (seconds) => readPages(service, seeded.many, seconds),
      floor: (seconds) => readPages(service, seeded.few, seconds),
      notes: async () => [await reconciled(service, seeded.many)],
      close: () => service.stop(),
    };
  },
};

async function readPages({ port }: ServiceProcess, org: BenchOrg, seconds: number): Promise<Sample> {
  const p50Of = async (path: string) => {
    const headers = { authorization: `Bearer ${org.key}` };
    const request: LoadRequest = { method: 'GET', path, headers };
    const { latenciesMs } = await load({ port, request, connections: 1, seconds: seconds / 2 });
    return percentile(latenciesMs, 50);
  };
  const usageBy = (groupBy: string) => p50Of(`/v1/orgs/${org.id}/usage?group_by=${groupBy}`);
  return {
    'run list p50 ms': await p50Of('/v1/runs'),
    'run list by cost p50 ms': await p50Of('/v1/runs?sort=-cost_usd'),
    'run list by cost, 30 days, p50 ms': await p50Of(`/v1/runs?sort=-cost_usd&from=${noonAgo(30)}`),
    'usage p50 ms': await usageBy('workflow'),
    'usage by two p50 ms': await usageBy('workflow,model'),
    'usage by hour p50 ms': await usageBy('hour'),
    'usage by hour and model p50 ms': await usageBy('hour,model'),
    'usage from noon p50 ms': await usageBy(`workflow&from=${noonAgo(30)}`),
  };
}

function noonAgo(daysAgo: number): string {
  return `${new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)}T12:00:00Z`;
}

/** Creates an org with many runs, and one with few. */
export async function fill(db: Database, runs: number, progress: RowOptions['progress']) {
  const [many, few] = await seedOrgs(db, 2);
  if (many === undefined || few === undefined) {
    throw new Error('two orgs are needed');
  }
  // Creates the partitions of past months; the service creates the current and the next ones.
  await ensureMonths(db, new Date(Date.now() - days * 86_400_000));
  await fillOrg(db, few, size.floor, progress);
  await fillOrg(db, many, runs, progress);
  return { many, few };
}

/** Creates one org with the given number of runs. */
export async function fillRuns(
  db: Database,
  runs: number,
  progress: RowOptions['progress'],
): Promise<BenchOrg> {
  const [org] = await seedOrgs(db, 1);
  if (org === undefined) {
    throw new Error('an org is needed');
  }
  await ensureMonths(db, new Date(Date.now() - days * 86_400_000));
  await fillOrg(db, org, runs, progress);
  return org;
}

/**
 * Distributes runs evenly over the days, in 99 scopes: the second is used half as often as the first, the third a third as
 * often, as is typical of workflows and customers. The other tables are derived from the runs, so that the ledger is balanced.
 */
async function fillOrg(
  db: Database,
  { id }: BenchOrg,
  runs: number,
  progress: RowOptions['progress'],
): Promise<void> {
  for (let from = 0; from < runs; from += runsPerStatement) {
    progress(`writing runs: ${from} of ${runs}`);
    const to = Math.min(from + runsPerStatement, runs);
    await db.transaction(async (tx) => {
      await tx.query(insertRuns, [id, from, to - 1, runs, keyIdOf(id)]);
    }, patiently);
  }
  await deriveFromRuns(db, id, progress);
}

/** Writes the identities, entries and usage of all runs of an org. */
export async function deriveFromRuns(
  db: Database,
  orgId: string,
  progress: RowOptions['progress'],
): Promise<void> {
  progress('writing identities, entries and usage');
  for (const statement of [insertIdentities, insertEntries, insertUsage]) {
    await db.transaction((tx) => tx.query(statement, [orgId]), patiently);
  }
  for (const statements of carriedOver) {
    await db.transaction((tx) => tx.query(statements), patiently);
  }
}

const insertRuns = `
  INSERT INTO runs (org_id, charged_at, id, external_id, status, key_id, model, provider, action, workflow, deployment,
                    department, team, customer_id, tags, depth, input_tokens, cached_input_tokens, cache_write_tokens,
                    output_tokens, cost_nanos, latency_ms, started_at, finished_at, metadata, marks, created_at)
  SELECT $1, at, 'run_' || lpad(n::text, 26, '0'), 'external-' || n, 'succeeded', $5, 'model-' || scope % 5, 'openai',
         'chat', 'workflow-' || scope % 20, 'eu-1', 'department-' || scope % 4, 'team-' || scope % 10,
         'customer-' || scope, '{"environment": "production"}', 1, 1000 + n % 500, 0, 0, 200 + n % 100,
         1000000 + n % 1000000, round(exp(5.5 + 3.5 * ((n * 0.7548776662466927) % 1)::float8)), at, at, '{"region": "eu-west-1"}', '{}', at
    FROM generate_series($2::int8, $3::int8) AS n
   CROSS JOIN LATERAL (
     SELECT date_trunc('milliseconds', now() - interval '1 hour' - (($4::int8 - n)::float8 / $4::int8) * interval '${days} days') AS at,
            floor(power(100, n * 0.6180339887498949 - floor(n * 0.6180339887498949)))::int4 AS scope
   ) AS made`;

const insertIdentities = `
  INSERT INTO run_identities (org_id, run_id, external_id, charged_at)
  SELECT org_id, id, external_id, charged_at FROM runs WHERE org_id = $1`;

const insertEntries = `
  INSERT INTO ledger_entries (org_id, charged_at, id, run_id, kind, booked_at, usd_nanos, tokens, requests, key_id, model,
                              workflow, deployment, department, customer_id, prepaid_nanos, uncovered_nanos, marks)
  SELECT org_id, charged_at, replace(id, 'run_', 'ent_'), id, 'charge', created_at, cost_nanos,
         input_tokens + output_tokens, 1, key_id, model, workflow, deployment, department, customer_id, 0, 0, '{}'
    FROM runs WHERE org_id = $1`;

const insertUsage = `
  INSERT INTO usage_rollups (org_id, bucket, digest, key_id, model, provider, workflow, deployment, department, team,
                             customer_id, status, requests, input_tokens, cached_input_tokens, cache_write_tokens,
                             output_tokens, usd_nanos, value_nanos, latency_ms)
  SELECT org_id, date_bin('15 minutes', charged_at, '2000-01-01T00:00:00Z') AS bucket, md5(customer_id || ' ' || status), key_id, model,
         provider, workflow, deployment, department, team, customer_id, status, count(*), sum(input_tokens),
         sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(cost_nanos), 0, sum(latency_ms)
    FROM runs WHERE org_id = $1
   GROUP BY org_id, 2, key_id, model, provider, workflow, deployment, department, team, customer_id, status`;

/** Migrations that derive days, latencies and totals from 15-minute buckets and runs. */
const migrations = await readMigrations();
const carriedOver = ['0006_usage_days.sql', '0017_usage_insight.sql'].map(
  (name) => migrations.find((one) => one.name === name)?.sql ?? '',
);

/** Lets the service reconcile the org, and reports how long that takes. */
async function reconciled(service: ServiceProcess, { id, key }: BenchOrg): Promise<string> {
  const startedMs = performance.now();
  const { balanced, totals } = await service.call<{
    balanced: boolean;
    totals: { runs: { runs: string } };
  }>('GET', `/v1/orgs/${id}/ledger/reconciliation`, undefined, key);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  return `reconciliation of ${totals.runs.runs} runs: ${balanced ? 'balanced' : 'NOT BALANCED'}, after ${seconds} s`;
}
