import type { Amounts, LimitKind, Unit } from '../../kernel/limits.ts';
import type { Queryable } from '../../platform/db/database.ts';

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

/** The fields of an entry that limits go by. */
export const entryFields = [
  'department',
  'workflow',
  'deployment',
  'customer_id',
  'chain_id',
  'key_id',
  'model',
] as const;
export type EntryField = (typeof entryFields)[number];

/** Counters that can be summed together: they go by the same fields, in any of these windows. */
export interface SumRequest {
  readonly fields: readonly EntryField[];
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

/** What credit packs and the prepaid balance have paid: as the entries say, and as the tallies do. */
export interface Paid {
  readonly kind: 'credits' | 'prepaid';
  /** The pack; empty for the prepaid balance. */
  readonly id: string;
  readonly entries: bigint;
  readonly tallies: bigint;
}

export async function sumPaid(db: Queryable, orgId: string): Promise<Paid[]> {
  const rows = await db.query<{ kind: Paid['kind']; id: string; entries: string; tallies: string }>(
    `WITH entries AS (
       SELECT 'credits' AS kind, pack ->> 0 AS id, sum((pack ->> 1)::int8) AS nanos
         FROM ledger_entries CROSS JOIN jsonb_array_elements(packs) AS pack
        WHERE org_id = $1 AND packs IS NOT NULL GROUP BY 2
       UNION ALL
       SELECT 'prepaid', '', coalesce(sum(prepaid_nanos), 0) FROM ledger_entries WHERE org_id = $1
     ), tallies AS (
       SELECT l.kind, CASE l.kind WHEN 'credits' THEN l.id ELSE '' END AS id, sum(t.settled) AS nanos
         FROM limit_tallies t JOIN limits l ON l.org_id = t.org_id AND l.id = t.limit_id
        WHERE t.org_id = $1 GROUP BY 1, 2
     )
     SELECT kind, id, coalesce(entries.nanos, 0) AS entries, coalesce(tallies.nanos, 0) AS tallies
       FROM entries FULL JOIN tallies USING (kind, id)`,
    [orgId],
  );
  return rows.map((row) => ({ ...row, entries: BigInt(row.entries), tallies: BigInt(row.tallies) }));
}

const measures = ['usd', 'tokens', 'requests', 'uncovered'] as const;
type Measure = (typeof measures)[number];
const sources = ['entries', 'runs', 'usage'] as const;
type Source = (typeof sources)[number];

export interface Totals {
  readonly sums: Readonly<Record<Source, Readonly<Record<Measure, bigint>>>>;
  /** How far runs and usage differ from the entries, day by day, so that one day's fault does not hide another's. */
  readonly drift: Readonly<Record<Measure, bigint>>;
}

/** Everything that was ever booked, from its three records. */
export async function sumTotals(db: Queryable, orgId: string): Promise<Totals> {
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
       SELECT (charged_at AT TIME ZONE 'UTC')::date AS day, sum(usd_nanos) AS usd, sum(tokens) AS tokens,
              sum(requests) AS requests, sum(uncovered_nanos) AS uncovered
         FROM ledger_entries WHERE org_id = $1 GROUP BY 1
     ), runs AS (
       SELECT (charged_at AT TIME ZONE 'UTC')::date AS day, sum(cost_nanos + adjusted_nanos) AS usd,
              sum(input_tokens + output_tokens) AS tokens, count(*) AS requests, sum(uncovered_nanos) AS uncovered
         FROM runs WHERE org_id = $1 AND cost_nanos IS NOT NULL GROUP BY 1
     ), usage AS (
       SELECT (bucket AT TIME ZONE 'UTC')::date AS day, sum(usd_nanos) AS usd,
              sum(input_tokens + output_tokens) AS tokens, sum(requests) AS requests, 0 AS uncovered
         FROM usage_rollups WHERE org_id = $1 GROUP BY 1
     )
     SELECT ${[...sums, ...drifts].join(', ')}
       FROM entries FULL JOIN runs USING (day) FULL JOIN usage USING (day)`,
    [orgId],
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
