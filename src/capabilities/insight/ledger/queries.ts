import { type Amounts, type LimitKind, matchFields, type Unit } from '../../../kernel/limits.ts';
import type { LimitField } from '../../../ledger/scope.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { TimeRange } from './pieces.ts';

/** Also of limits that have ended. */
export async function findUnits(
  db: Queryable,
  orgId: string,
  limitIds: readonly string[],
): Promise<ReadonlyMap<string, Unit>> {
  const rows = await findKinds(db, orgId, limitIds);
  return new Map([...rows].map(([id, { unit }]) => [id, unit]));
}

export interface KindAndUnit {
  readonly kind: LimitKind;
  readonly unit: Unit;
}

export async function findKinds(
  db: Queryable,
  orgId: string,
  limitIds: readonly string[],
): Promise<ReadonlyMap<string, KindAndUnit>> {
  if (limitIds.length === 0) {
    return new Map();
  }
  const rows = await db.query<KindAndUnit & { id: string }>(
    'SELECT id, kind, unit FROM limits WHERE org_id = $1 AND id = ANY($2)',
    [orgId, limitIds],
  );
  return new Map(rows.map(({ id, kind, unit }) => [id, { kind, unit }]));
}

/** Columns of a ledger entry that limits can match. */
export const entryFields: readonly LimitField[] = matchFields.filter((field) => field !== 'route_class');

/** Counters that can be summed together: they go by the same fields, in any of these windows. */
export interface SumRequest {
  readonly fields: readonly LimitField[];
  readonly windows: readonly { readonly startMs: number; readonly endMs: number }[];
  /** For each field, the values that matter; null: all of them. */
  readonly values: readonly (readonly string[] | null)[];
}

export interface EntrySum {
  /** Counted from 0. */
  readonly window: number;
  readonly values: readonly string[];
  readonly amounts: Amounts;
}

/** Each entry is looked at once for every kind of window that it lies in, however many counters there are. */
export async function sumEntries(db: Queryable, orgId: string, request: SumRequest): Promise<EntrySum[]> {
  const { fields, windows, values } = request;
  const conditions = fields.map((field, index) =>
    values[index] === null
      ? `AND e.${field} IS NOT NULL AND $${index + 4}::text[] IS NULL`
      : `AND e.${field} = ANY($${index + 4}::text[])`,
  );
  const groups = fields.map((field) => `, e.${field}`).join('');
  const rows = await db.query<{
    window: number;
    values: string[];
    usd: string;
    tokens: string;
    requests: string;
  }>(
    `SELECT w.number::int4 AS window, ARRAY[${fields.map((field) => `e.${field}`).join(', ')}]::text[] AS values,
            sum(e.usd_nanos) AS usd, sum(e.tokens) AS tokens, sum(e.requests) AS requests
       FROM unnest($2::timestamptz[], $3::timestamptz[]) WITH ORDINALITY AS w(starts_at, ends_at, number)
       JOIN ledger_entries e ON e.org_id = $1 AND e.charged_at >= w.starts_at AND e.charged_at < w.ends_at
            ${conditions.join(' ')}
      GROUP BY w.number${groups}`,
    [
      orgId,
      windows.map(({ startMs }) => new Date(startMs)),
      windows.map(({ endMs }) => new Date(endMs)),
      ...values,
    ],
  );
  return rows.map((row) => ({
    window: row.window - 1,
    values: row.values,
    amounts: { usd: BigInt(row.usd), tokens: BigInt(row.tokens), requests: BigInt(row.requests) },
  }));
}

/** Of an org's books: from when to when there is something in them. Undefined: there is nothing. */
export async function findBounds(db: Queryable, orgId: string): Promise<TimeRange | undefined> {
  const [row] = await db.query<{ first: Date | null; last: Date | null }>(
    `SELECT least(e.first, r.first, u.first, d.first, t.first) AS first,
            greatest(e.last, r.last, u.last, d.last, t.last) AS last
       FROM (SELECT min(charged_at) AS first, max(charged_at) AS last FROM ledger_entries WHERE org_id = $1) e,
            (SELECT min(charged_at) AS first, max(charged_at) AS last FROM runs WHERE org_id = $1) r,
            (SELECT min(bucket) AS first, max(bucket) AS last FROM usage_rollups WHERE org_id = $1) u,
            (SELECT min(day) AS first, max(day) AS last FROM usage_days WHERE org_id = $1) d,
            (SELECT min(bucket) AS first, max(bucket) AS last FROM usage_totals WHERE org_id = $1) t`,
    [orgId],
  );
  return row?.first == null || row.last == null
    ? undefined
    : { fromMs: row.first.getTime(), toMs: row.last.getTime() + 1 };
}

/** Who pays besides limits in windows: packs by their id, and the prepaid balance. */
export interface Payment {
  readonly kind: 'credits' | 'prepaid';
  /** The pack; empty for the prepaid balance. */
  readonly id: string;
  readonly nanos: bigint;
}

/** What they have paid as the entries of some time say. */
export async function sumPayments(
  db: Queryable,
  orgId: string,
  { fromMs, toMs }: TimeRange,
): Promise<Payment[]> {
  const rows = await db.query<{ kind: Payment['kind']; id: string; nanos: string }>(
    `SELECT 'credits' AS kind, pack ->> 0 AS id, sum((pack ->> 1)::int8) AS nanos
       FROM ledger_entries CROSS JOIN jsonb_array_elements(packs) AS pack
      WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3 AND packs IS NOT NULL GROUP BY 2
     UNION ALL
     SELECT 'prepaid', '', coalesce(sum(prepaid_nanos), 0)
       FROM ledger_entries WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3`,
    [orgId, new Date(fromMs), new Date(toMs)],
  );
  return rows.map((row) => ({ ...row, nanos: BigInt(row.nanos) }));
}

/** What they have paid by entries that were deleted since. */
export async function findClosedPayments(db: Queryable, orgId: string): Promise<Payment[]> {
  return db.query<Payment>('SELECT kind, id, nanos FROM closed_payments WHERE org_id = $1', [orgId]);
}

/** What deleted entries have used of these chains. */
export async function findClosedChains(
  db: Queryable,
  orgId: string,
  chainIds: readonly string[],
): Promise<(Amounts & { readonly chainId: string })[]> {
  const rows = await db.query<{ chain_id: string; usd_nanos: bigint; tokens: bigint; requests: bigint }>(
    'SELECT chain_id, usd_nanos, tokens, requests FROM closed_chains WHERE org_id = $1 AND chain_id = ANY($2)',
    [orgId, chainIds],
  );
  return rows.map(({ chain_id, usd_nanos, tokens, requests }) => ({
    chainId: chain_id,
    usd: usd_nanos,
    tokens,
    requests,
  }));
}

/** The same as the tallies say. */
export async function findTallies(db: Queryable, orgId: string): Promise<Payment[]> {
  const rows = await db.query<{ kind: Payment['kind']; id: string; nanos: string }>(
    `SELECT l.kind, CASE l.kind WHEN 'credits' THEN l.id ELSE '' END AS id, sum(t.settled) AS nanos
       FROM limit_tallies t JOIN limits l ON l.org_id = t.org_id AND l.id = t.limit_id
      WHERE t.org_id = $1 GROUP BY 1, 2`,
    [orgId],
  );
  return rows.map((row) => ({ ...row, nanos: BigInt(row.nanos) }));
}

/** Whether the org ever had a pack or a prepaid balance: most have not, and need not be summed. */
export async function hasPayers(db: Queryable, orgId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 AS one FROM limits WHERE org_id = $1 AND kind IN ('credits', 'prepaid') LIMIT 1`,
    [orgId],
  );
  return rows.length > 0;
}

const measures = ['usd', 'tokens', 'requests', 'uncovered'] as const;
type Measure = (typeof measures)[number];
const sources = ['entries', 'runs', 'usage'] as const;
type Source = (typeof sources)[number];

export interface Totals {
  readonly sums: Readonly<Record<Source, Readonly<Record<Measure, bigint>>>>;
  readonly drift: Drift;
}

/** How far two records differ, day by day, so that one day's fault does not hide another's. */
type Drift = Readonly<Record<Measure, bigint>>;

/** What retention has left of deleted rows: a row for each quarter of an hour. */
function closedBalances(source: 'runs' | 'entries'): string {
  return `SELECT bucket, usd_nanos, tokens, requests, uncovered_nanos FROM closed_balances
           WHERE org_id = $1 AND source = '${source}' AND bucket >= $2 AND bucket < $3`;
}

/** Everything that was posted in some time, from its three records, by whole quarters of an hour. */
export async function sumTotals(db: Queryable, orgId: string, { fromMs, toMs }: TimeRange): Promise<Totals> {
  const column = (source: Source, measure: Measure) => `coalesce(${source}.${measure}, 0)`;
  const sums = sources.flatMap((source) =>
    measures.map((measure) => `coalesce(sum(${source}.${measure}), 0) AS ${source}_${measure}`),
  );
  const drifts = measures.map((measure) => {
    const apart = (source: Source) => `abs(${column('entries', measure)} - ${column(source, measure)})`;
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
      Measure,
      bigint
    >;
  return {
    sums: { entries: all('entries'), runs: all('runs'), usage: all('usage') },
    drift: all('drift'),
  };
}

/** How far usage by day differs from that by quarter of an hour, of whole days. */
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

/** How far the sums of everything differ from what they sum up, quarter by quarter. */
export async function compareQuarters(
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

/** Orgs whose books have moved, the latest first. */
export async function findRecentlyBooked(
  db: Queryable,
  limit: number,
): Promise<{ org_id: string; last_at: Date }[]> {
  return db.query<{ org_id: string; last_at: Date }>(
    `SELECT org_id, last_at FROM ledger_orgs WHERE last_at > '1970-01-01T00:00:00Z' ORDER BY last_at DESC LIMIT $1`,
    [limit],
  );
}
