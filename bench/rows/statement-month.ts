/**
 * A month of calls against the provider's statement: some calls went around Purser, some were recorded at a wrong price, some were
 * never settled. Measures upload, comparison and reconciliation, and checks that every amount has its right cause in its row, and
 * that afterwards the ledger equals the statement to the nanodollar.
 */
import { performance } from 'node:perf_hooks';
import { formatUsd, parseSignedUsd } from '../../src/kernel/money.ts';
import { ensureMonths } from '../../src/ledger/partitions.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { type OpenAiCost, type OpenAiUsage, openAiPages } from '../../test/support/statement-files.ts';
import type { BenchOrg } from '../bench-org.ts';
import type { RowOptions, SingleRow, Singles } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { cpuMs, type ServiceProcess, startService, temporaryDirectory } from '../processes.ts';
import { keyIdOf, openPlace, type Place, patiently, seedOrgs } from '../seed.ts';
import { deriveFromRuns } from './growth-runs.ts';

const size = { full: 1_000_000, small: 20_000 };
const days = 30;
const dayMs = 86_400_000;
const callsPerStatement = 50_000;
/** Nanodollars per token, and of a hold. */
const rates = { input: 2_500n, output: 10_000n };
const heldNanos = 50_000_000n;
const otherKeys = 3;
const gatewayKeys = 10;
const secondsMax = 60;

export const statementMonth = rowOf('statement-month', 'embedded engine', async (work) => {
  const place = { dataDir: temporaryDirectory() };
  return work(place, { SVC_DATA_DIR: place.dataDir });
});

export const statementMonthPostgres = rowOf('statement-month-postgres', 'PostgreSQL', async (work) => {
  const postgres = await startPostgres();
  try {
    const databaseUrl = await postgres.database('purser');
    return await work({ dataDir: temporaryDirectory(), databaseUrl }, { SVC_DATABASE_URL: databaseUrl });
  } finally {
    await postgres.stop();
  }
});

type Work = (place: Place, settings: Record<string, string>) => Promise<Singles>;

function rowOf(name: string, shown: string, onEngine: (work: Work) => Promise<Singles>): SingleRow {
  return {
    kind: 'single',
    name,
    what:
      `a statement of ${days} days over ${size.full} calls, of which 3 % went around Purser, 1 % were recorded at a wrong price ` +
      `and 0.5 % were never settled: upload, comparison with all its pages, and reconciliation; ${shown}`,
    toReach: { 'all s': { atMost: secondsMax } },
    shrinks: true,
    measure: ({ small, progress }) =>
      onEngine((place, settings) => measureMonth(place, settings, small ? size.small : size.full, progress)),
  };
}

async function measureMonth(
  place: Place,
  settings: Record<string, string>,
  calls: number,
  progress: RowOptions['progress'],
): Promise<Singles> {
  const db = await openPlace(place);
  let org: BenchOrg;
  let month: Month;
  try {
    org = await seedMonth(db, calls, progress);
    month = await readMonth(db, calls);
  } finally {
    await db.close();
  }
  const service = await startService({ settings });
  try {
    return await closeMonth(service, org, month, progress);
  } finally {
    await service.stop();
  }
}

/** The first day of the month: it ends yesterday, in UTC. */
function firstDay(): Date {
  return new Date(Math.floor(Date.now() / dayMs) * dayMs - days * dayMs);
}

/**
 * SQL of the calls from $1 to $2 of all $3, in the month that starts at $4. `fate` decides what became of a call: of 1,000 calls in
 * sequence, 30 went around Purser, 5 were never settled, 10 were recorded at 80 % of their price.
 */
const madeCalls = `
  SELECT n, fate, input, output, input * ${rates.input} + output * ${rates.output} AS billed,
         scope, (ARRAY['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'o3'])[1 + scope % 5] AS model,
         'department-' || scope % 4 AS department, at, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day
    FROM generate_series($1::int8, $2::int8) AS n
   CROSS JOIN LATERAL (
     SELECT (n * 7919) % 1000 AS fate, 500 + (n * 31) % 4000 AS input, 50 + (n * 17) % 800 AS output,
            date_trunc('milliseconds', $4::timestamptz + (n::float8 / $3::int8) * interval '${days} days') AS at,
            floor(power(100, n * 0.6180339887498949 - floor(n * 0.6180339887498949)))::int4 AS scope
   ) AS made`;
const isAround = 'fate < 30';
const isUnsettled = 'fate >= 30 AND fate < 35';
const isWronglyPriced = 'fate >= 35 AND fate < 45';
/** Recorded cost of a call that was recorded. */
const recorded = `CASE WHEN ${isUnsettled} THEN ${heldNanos} WHEN ${isWronglyPriced} THEN billed * 4 / 5 ELSE billed END`;

async function seedMonth(db: Database, calls: number, progress: RowOptions['progress']): Promise<BenchOrg> {
  const [org] = await seedOrgs(db, 1);
  if (org === undefined) {
    throw new Error('an org is needed');
  }
  await ensureMonths(db, firstDay());
  for (let from = 0; from < calls; from += callsPerStatement) {
    progress(`writing runs: ${from} of ${calls}`);
    const last = Math.min(from + callsPerStatement, calls) - 1;
    await db.transaction(
      (tx) => tx.query(insertRuns, [from, last, calls, firstDay(), org.id, keyIdOf(org.id)]),
      patiently,
    );
  }
  await deriveFromRuns(db, org.id, progress);
  return org;
}

const insertRuns = `
  INSERT INTO runs (org_id, charged_at, id, external_id, status, key_id, model, provider, action, workflow, deployment,
                    department, team, customer_id, tags, depth, input_tokens, cached_input_tokens, cache_write_tokens,
                    output_tokens, cost_nanos, latency_ms, started_at, finished_at, metadata, marks, created_at)
  SELECT $5, at, 'run_' || lpad(n::text, 26, '0'), 'external-' || n, CASE WHEN ${isUnsettled} THEN 'running' ELSE 'succeeded' END,
         $6, model, 'openai', 'chat', 'workflow-' || scope % 20, 'eu-1', department, 'team-' || scope % 10, 'customer-' || scope,
         '{"environment": "production"}', 1, CASE WHEN ${isUnsettled} THEN 0 ELSE input END, 0, 0,
         CASE WHEN ${isUnsettled} THEN 0 ELSE output END, ${recorded}, 800, at, CASE WHEN ${isUnsettled} THEN NULL ELSE at END, '{}',
         CASE WHEN ${isUnsettled} THEN '{unsettled}'::text[] ELSE '{}' END, at
    FROM (${madeCalls}) AS calls WHERE NOT (${isAround})`;

interface CallSums {
  readonly day: string;
  readonly model: string;
  readonly department: string;
  /** The provider's key. */
  readonly key: string;
  readonly input: bigint;
  readonly output: bigint;
  /** Nanodollars that the cause is to explain. */
  readonly missing: bigint;
  readonly unsettled: bigint;
  readonly price: bigint;
}

interface Month {
  readonly pages: readonly object[];
  readonly billed: bigint;
  /** Amounts by row and cause, as `2026-11-01 gpt-4o department-1 missing`. */
  readonly causes: ReadonlyMap<string, bigint>;
}

/** Sums up the calls as the provider does, which knows nothing of what was recorded. */
async function readMonth(db: Database, calls: number): Promise<Month> {
  const sums = await db.transaction(
    (tx) => tx.query<CallSums>(sumCalls, [0, calls - 1, calls, firstDay()]),
    patiently,
  );
  const usage: OpenAiUsage[] = [];
  const rows = new Map<string, { input: bigint; output: bigint }>();
  const causes = new Map<string, bigint>();
  let billed = 0n;
  for (const { day, model, department, key, input, output, ...of } of sums) {
    usage.push({
      day,
      model: billedName(model),
      project: department,
      key,
      input: Number(input),
      output: Number(output),
    });
    const row = `${day} ${model} ${department}`;
    const there = rows.get(row) ?? { input: 0n, output: 0n };
    rows.set(row, { input: there.input + input, output: there.output + output });
    billed += input * rates.input + output * rates.output;
    for (const cause of ['missing', 'unsettled', 'price'] as const) {
      const name = `${row} ${cause}`;
      causes.set(name, (causes.get(name) ?? 0n) + of[cause]);
    }
  }
  const costs = [...rows].flatMap(([row, { input, output }]): OpenAiCost[] => {
    const [day = '', model = '', project = ''] = row.split(' ');
    const item = (kind: 'input' | 'output', tokens: bigint) => ({
      day,
      project,
      item: `${billedName(model)}, ${kind}`,
      usd: formatUsd(tokens * rates[kind]),
    });
    return [item('input', input), item('output', output)];
  });
  const present = [...causes].filter(([, nanos]) => nanos !== 0n);
  return { pages: openAiPages(costs, usage), billed, causes: new Map(present) };
}

/** Providers bill a model by its dated name, gateways call it without. */
function billedName(model: string): string {
  return `${model}-2026-01-15`;
}

const sumCalls = `
  SELECT day, model, department,
         CASE WHEN ${isAround} THEN 'key_other_' || n % ${otherKeys} ELSE 'key_gateway_' || n % ${gatewayKeys} END AS key,
         sum(input)::int8 AS input, sum(output)::int8 AS output,
         coalesce(sum(billed) FILTER (WHERE ${isAround}), 0)::int8 AS missing,
         coalesce(sum(billed - ${recorded}) FILTER (WHERE ${isUnsettled}), 0)::int8 AS unsettled,
         coalesce(sum(billed - ${recorded}) FILTER (WHERE ${isWronglyPriced}), 0)::int8 AS price
    FROM (${madeCalls}) AS calls GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;

interface ComparisonPage {
  readonly total: { readonly difference_usd: string; readonly recorded_usd: string };
  readonly data: readonly {
    readonly day: string;
    readonly model: string;
    readonly project: string | null;
    readonly causes: readonly { readonly cause: string; readonly usd: string }[];
  }[];
  readonly next_cursor: string | null;
}

async function closeMonth(
  service: ServiceProcess,
  org: BenchOrg,
  month: Month,
  progress: RowOptions['progress'],
): Promise<Singles> {
  const path = `/v1/orgs/${org.id}/statements`;
  const call = <Body>(method: string, to: string, body?: object) =>
    service.call<Body>(method, to, body, org.key);
  const figures: Record<string, number> = {};
  const cpuBeforeMs = cpuMs(service.pid);
  const timed = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    progress(name);
    const startedMs = performance.now();
    const result = await work();
    figures[`${name} s`] = (performance.now() - startedMs) / 1_000;
    return result;
  };
  const { id, billed_usd } = await timed('upload', () =>
    call<{ id: string; billed_usd: string }>('POST', path, {
      pages: month.pages,
      project_dimension: 'department',
      gateway_key_ids: Array.from({ length: gatewayKeys }, (_, index) => `key_gateway_${index}`),
    }),
  );
  expectEqual('billed', billed_usd, formatUsd(month.billed));
  const rows = await timed('comparison', async () => {
    const found: ComparisonPage['data'][number][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const at: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: ComparisonPage = await call('GET', `${path}/${id}/comparison?limit=200${at}`);
      found.push(...page.data);
      cursor = page.next_cursor;
    }
    return found;
  });
  checkCauses(rows, month);
  await timed('reconcile', () => call('POST', `${path}/${id}/reconcile`, {}));
  figures['all s'] = Object.values(figures).reduce((sum, seconds) => sum + seconds, 0);
  figures['CPU s of the service'] = (cpuMs(service.pid) - cpuBeforeMs) / 1_000;

  progress('checking the ledger');
  const { total } = await call<ComparisonPage>('GET', `${path}/${id}/comparison?limit=1`);
  expectEqual('difference after the reconciliation', total.difference_usd, '0');
  expectEqual('recorded after the reconciliation', total.recorded_usd, billed_usd);
  const usage = await call<{ total: { cost_usd: string } }>(
    'GET',
    `/v1/orgs/${org.id}/usage?from=${firstDay().toISOString()}`,
  );
  expectEqual('usage', usage.total.cost_usd, billed_usd);
  const { balanced } = await call<{ balanced: boolean }>('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expectEqual('ledger balanced', String(balanced), 'true');
  return {
    figures: { ...figures },
    notes: [
      `${rows.length} rows with ${month.causes.size} injected causes, each found exactly; the ledger equals the statement`,
    ],
  };
}

function checkCauses(rows: ComparisonPage['data'], { causes }: Month): void {
  // Each key that was used around Purser is a cause of its own.
  const found = new Map<string, bigint>();
  for (const { day, model, project, causes: ofRow } of rows) {
    for (const { cause, usd } of ofRow) {
      const name = `${day} ${model} ${project} ${cause}`;
      found.set(name, (found.get(name) ?? 0n) + (parseSignedUsd(usd) ?? 0n));
    }
  }
  const expected = [...causes].map(([name, nanos]) => {
    const [day, model = '', department, cause] = name.split(' ');
    return [`${day} ${billedName(model)} ${department} ${cause}`, nanos] as const;
  });
  for (const [name, nanos] of expected) {
    expectEqual(name, formatUsd(found.get(name) ?? 0n), formatUsd(nanos));
  }
  expectEqual('number of causes', String(found.size), String(expected.length));
}

function expectEqual(what: string, found: string, expected: string): void {
  if (found !== expected) {
    throw new Error(`${what}: ${found} instead of ${expected}`);
  }
}
