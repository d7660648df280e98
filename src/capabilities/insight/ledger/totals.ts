/** Sums the three records of postings, and compares them with each other. */
import { negatedParts, sumOfParts } from '../../../kernel/cost-parts.ts';
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import { sumOfTexts } from '../../../ledger/usage/part-texts.ts';
import type { Queryable } from '../../../platform/db/database.ts';

const measures = ['usd', 'tokens', 'requests', 'uncovered'] as const;
type ReconciledMeasure = (typeof measures)[number];
const sources = ['entries', 'runs', 'usage'] as const;
type ReconciledSource = (typeof sources)[number];

export interface Totals {
  readonly sums: Readonly<Record<ReconciledSource, Readonly<Record<ReconciledMeasure, bigint>>>>;
  readonly drift: Drift;
}

/**
 * Sum of absolute differences between records, by day or by bucket, so that one difference does not cancel another.
 */
type Drift = Readonly<Record<ReconciledMeasure, bigint>>;

/** Closing balances of rows deleted by retention: one row per 15-minute bucket. */
function closedBalances(source: 'runs' | 'entries'): string {
  return `SELECT bucket, usd_nanos, tokens, requests, uncovered_nanos FROM closed_balances
           WHERE org_id = $1 AND source = '${source}' AND bucket >= $2 AND bucket < $3`;
}

/** Sums all postings of a period from its three records. The period must consist of whole 15-minute buckets. */
export async function sumTotals(db: Queryable, orgId: string, { fromMs, toMs }: TimeRange): Promise<Totals> {
  const column = (source: ReconciledSource, measure: ReconciledMeasure) =>
    `coalesce(${source}.${measure}, 0)`;
  const sums = sources.flatMap((source) =>
    measures.map((measure) => `coalesce(sum(${source}.${measure}), 0) AS ${source}_${measure}`),
  );
  const drifts = measures.map((measure) => {
    const apart = (source: ReconciledSource) =>
      `abs(${column('entries', measure)} - ${column(source, measure)})`;
    return `coalesce(sum(${apart('runs')}${measure === 'uncovered' ? '' : ` + ${apart('usage')}`}), 0) AS drift_${measure}`;
  });
  const [row] = await db.query<Record<string, string>>(
    `WITH entries AS (
       SELECT (at AT TIME ZONE 'UTC')::date AS day, sum(usd) AS usd, sum(tokens) AS tokens, sum(requests) AS requests,
              sum(uncovered) AS uncovered
         FROM (SELECT charged_at AS at, usd_nanos AS usd, tokens, requests, uncovered_nanos AS uncovered
                 FROM ledger_entries WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3
               UNION ALL ${closedBalances('entries')}) AS all_entries GROUP BY 1
     ), runs AS (
       SELECT (at AT TIME ZONE 'UTC')::date AS day, sum(usd) AS usd, sum(tokens) AS tokens, sum(requests) AS requests,
              sum(uncovered) AS uncovered
         FROM (SELECT charged_at AS at, cost_nanos + adjusted_nanos AS usd, input_tokens + output_tokens AS tokens,
                      1 AS requests, uncovered_nanos AS uncovered
                 FROM runs WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3 AND cost_nanos IS NOT NULL
               UNION ALL ${closedBalances('runs')}) AS all_runs GROUP BY 1
     ), usage AS (
       SELECT (bucket AT TIME ZONE 'UTC')::date AS day, sum(usd_nanos) AS usd,
              sum(input_tokens + output_tokens) AS tokens, sum(requests) AS requests, 0 AS uncovered
         FROM usage_rollups WHERE org_id = $1 AND bucket >= $2 AND bucket < $3 GROUP BY 1
     )
     SELECT ${[...sums, ...drifts].join(', ')}
       FROM entries FULL JOIN runs USING (day) FULL JOIN usage USING (day)`,
    [orgId, new Date(fromMs), new Date(toMs)],
  );
  const read = (name: string) => BigInt(row?.[name] ?? 0);
  const all = (of: string) =>
    Object.fromEntries(measures.map((measure) => [measure, read(`${of}_${measure}`)])) as Record<
      ReconciledMeasure,
      bigint
    >;
  return {
    sums: { entries: all('entries'), runs: all('runs'), usage: all('usage') },
    drift: all('drift'),
  };
}

/** Compares usage by day with usage by 15-minute bucket, for whole days. */
export async function compareDays(db: Queryable, orgId: string, { fromMs, toMs }: TimeRange): Promise<Drift> {
  const apart = (sum: (alias: string) => string) =>
    `coalesce(sum(abs(coalesce(${sum('d')}, 0) - coalesce(${sum('q')}, 0))), 0)`;
  const [row] = await db.query<{ usd: string; tokens: string; requests: string }>(
    `WITH q AS (
       SELECT date_trunc('day', bucket, 'UTC') AS day, digest, sum(usd_nanos) AS usd_nanos, sum(requests) AS requests,
              sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
         FROM usage_rollups WHERE org_id = $1 AND bucket >= $2 AND bucket < $3 GROUP BY 1, 2
     ), d AS (SELECT * FROM usage_days WHERE org_id = $1 AND day >= $2 AND day < $3)
     SELECT ${apart((alias) => `${alias}.usd_nanos`)} AS usd, ${apart((alias) => `${alias}.requests`)} AS requests,
            ${apart((alias) => `${alias}.input_tokens + ${alias}.output_tokens`)} AS tokens
       FROM d FULL JOIN q USING (day, digest)`,
    [orgId, new Date(fromMs), new Date(toMs)],
  );
  return {
    usd: BigInt(row?.usd ?? 0),
    tokens: BigInt(row?.tokens ?? 0),
    requests: BigInt(row?.requests ?? 0),
    uncovered: 0n,
  };
}

/** Compares the totals with the sums of their rows, bucket by bucket. */
export async function compareBucketTotals(
  db: Queryable,
  orgId: string,
  { fromMs, toMs }: TimeRange,
): Promise<Drift> {
  const compared = ['usd_nanos', 'requests', 'tokens'];
  const [row] = await db.query<{ usd_nanos: string; tokens: string; requests: string }>(
    `WITH q AS (
       SELECT bucket, sum(usd_nanos) AS usd_nanos, sum(requests) AS requests, sum(input_tokens + output_tokens) AS tokens
         FROM usage_rollups WHERE org_id = $1 AND bucket >= $2 AND bucket < $3 GROUP BY 1
     ), t AS (
       SELECT bucket, usd_nanos, requests, input_tokens + output_tokens AS tokens
         FROM usage_totals WHERE org_id = $1 AND bucket >= $2 AND bucket < $3
     )
     SELECT ${compared.map((name) => `coalesce(sum(abs(coalesce(t.${name}, 0) - coalesce(q.${name}, 0))), 0) AS ${name}`).join(', ')}
       FROM t FULL JOIN q USING (bucket)`,
    [orgId, new Date(fromMs), new Date(toMs)],
  );
  return {
    usd: BigInt(row?.usd_nanos ?? 0),
    tokens: BigInt(row?.tokens ?? 0),
    requests: BigInt(row?.requests ?? 0),
    uncovered: 0n,
  };
}

/** Compares the kinds of the entries with those of the buckets. Buckets of which retention has deleted entries are left out. */
export function compareEntryParts(db: Queryable, orgId: string, range: TimeRange): Promise<Drift> {
  const isOpen = (bucket: string) => `AND ${bucket} NOT IN (SELECT bucket FROM closed)`;
  const bucketOf = `date_bin('15 minutes', charged_at, '2000-01-01T00:00:00Z')`;
  return compareParts(db, orgId, range, [
    { table: 'ledger_entries', column: 'charged_at', condition: isOpen(bucketOf) },
    { table: 'usage_rollups', column: 'bucket', condition: isOpen('bucket') },
  ]);
}

/** Compares the kinds of days and totals with those of the buckets, for whole days. */
export async function compareUsageParts(db: Queryable, orgId: string, range: TimeRange): Promise<Drift> {
  const buckets = { table: 'usage_rollups', column: 'bucket' };
  const days = await compareParts(db, orgId, range, [{ table: 'usage_days', column: 'day' }, buckets]);
  const totals = await compareParts(db, orgId, range, [{ table: 'usage_totals', column: 'bucket' }, buckets]);
  return plus(days, totals);
}

interface PartSource {
  readonly table: string;
  /** Name of the time column. */
  readonly column: string;
  readonly condition?: string;
}

/**
 * Sums the differences in the cost and the quantity of each kind. The texts are read in one statement and summed in this process: the
 * database needs many times as long. Differences in what is unsplit are differences in dollars, which are compared elsewhere.
 */
async function compareParts(
  db: Queryable,
  orgId: string,
  { fromMs, toMs }: TimeRange,
  [one, other]: readonly [PartSource, PartSource],
): Promise<Drift> {
  const within = (column: string) => `org_id = $1 AND ${column} >= $2 AND ${column} < $3`;
  const textOf = ({ table, column, condition = '' }: PartSource) =>
    `(SELECT coalesce(string_agg(parts, ''), '') FROM ${table} WHERE ${within(column)} ${condition})`;
  const [row] = await db.query<{ one: string; other: string }>(
    `WITH closed AS (SELECT bucket FROM closed_balances WHERE source = 'entries' AND ${within('bucket')})
     SELECT ${textOf(one)} AS one, ${textOf(other)} AS other`,
    [orgId, new Date(fromMs), new Date(toMs)],
  );
  const apart = sumOfParts(
    await sumOfTexts(row?.one ?? ''),
    negatedParts(await sumOfTexts(row?.other ?? '')),
  );
  const distance = (amounts: readonly bigint[]) =>
    amounts.reduce((sum, amount) => sum + (amount < 0n ? -amount : amount), 0n);
  return {
    usd: distance(apart.map(({ nanos }) => nanos)),
    tokens: distance(apart.map(({ quantity }) => quantity)),
    requests: 0n,
    uncovered: 0n,
  };
}

function plus(one: Drift, other: Drift): Drift {
  return Object.fromEntries(measures.map((measure) => [measure, one[measure] + other[measure]])) as Drift;
}

export function addDrift(totals: Totals, drift: Drift): Totals {
  return { ...totals, drift: plus(totals.drift, drift) };
}

export function addTotals(a: Totals | undefined, b: Totals): Totals {
  if (a === undefined) {
    return b;
  }
  return {
    sums: {
      entries: plus(a.sums.entries, b.sums.entries),
      runs: plus(a.sums.runs, b.sums.runs),
      usage: plus(a.sums.usage, b.sums.usage),
    },
    drift: plus(a.drift, b.drift),
  };
}
