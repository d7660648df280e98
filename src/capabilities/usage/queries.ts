import type { Queryable } from '../../platform/db/database.ts';
import { type Field, fields, type Span } from './schema.ts';

/** A dimension of the groups: a column, or spans of time given by their beginnings. */
export type GroupBy =
  | { readonly kind: 'field'; readonly name: Field }
  | { readonly kind: 'span'; readonly name: Span; readonly startsMs: readonly number[] };

export interface UsageRequest {
  readonly orgId: string;
  readonly from: Date;
  readonly to: Date;
  readonly filters: Readonly<Partial<Record<Field, string>>>;
  readonly groupBy: readonly GroupBy[];
  /** The order of the group to go on after. */
  readonly after: readonly string[] | undefined;
  readonly limit: number;
}

const measures = [
  'runs',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'usd_nanos',
  'value_nanos',
] as const;
export type Measures = Readonly<Record<(typeof measures)[number], string>>;

export interface UsageGroup extends Measures {
  /** For each dimension its value: a text, empty for none, or the number of the span, from 1. */
  readonly values: readonly string[];
  /** What the order goes by. */
  readonly rank: readonly string[];
}

export interface UsageSums {
  readonly total: Measures;
  readonly groups: readonly UsageGroup[];
}

const sums = measures.map((name) => `coalesce(sum(${name === 'runs' ? 'requests' : name}), 0) AS ${name}`);

/**
 * Spans of time first, in their order; then what cost most; then by value, so that the order is always the same.
 * One statement, so that the total is the sum of what the pages hold at that moment.
 */
export async function sumUsage(db: Queryable, request: UsageRequest): Promise<UsageSums> {
  const params: unknown[] = [request.orgId, request.from, request.to];
  const param = (value: unknown, type: string) => `$${params.push(value)}::${type}`;
  const conditions = fields.flatMap((name) => {
    const value = request.filters[name];
    return value === undefined ? [] : [` AND ${name} = ${param(value, 'text')}`];
  });
  const values = request.groupBy.map((one) =>
    one.kind === 'field'
      ? one.name
      : `width_bucket(bucket, ${param(
          one.startsMs.map((startMs) => new Date(startMs)),
          'timestamptz[]',
        )})`,
  );
  const columns = values.map((sql, index) => `${sql} AS v${index}`);
  const isSpan = (index: number) => request.groupBy[index]?.kind === 'span';
  const order = [
    ...values.flatMap((_, index) => (isSpan(index) ? [{ sql: `v${index}`, type: 'int8' }] : [])),
    { sql: '-usd_nanos', type: 'numeric' },
    ...values.flatMap((_, index) => (isSpan(index) ? [] : [{ sql: `v${index}`, type: 'text' }])),
  ];
  const { after } = request;
  const goOn =
    after === undefined
      ? ''
      : `WHERE (${order.map(({ sql }) => sql).join(', ')}) > (${order
          .map(({ type }, index) => param(after[index], type))
          .join(', ')})`;
  const shown = (prefix: string) => measures.map((name) => `${prefix}.${name}::text AS ${prefix}_${name}`);
  const rows = await db.query<Record<string, string> & { values: string[] | null; rank: string[] }>(
    `WITH groups AS (
       SELECT ${[...columns, ...sums].join(', ')} FROM usage_rollups
        WHERE org_id = $1 AND bucket >= $2 AND bucket < $3${conditions.join('')}
        ${values.length === 0 ? '' : `GROUP BY ${values.map((_, index) => `v${index}`).join(', ')}`}
     ), page AS (
       SELECT * FROM groups ${goOn} ORDER BY ${order.map(({ sql }) => sql).join(', ')} LIMIT ${param(request.limit, 'int8')}
     ), shown AS (
       SELECT *, ARRAY[${values.map((_, index) => `v${index}::text`).join(', ')}]::text[] AS values,
              ARRAY[${order.map(({ sql }) => `(${sql})::text`).join(', ')}] AS rank,
              row_number() OVER (ORDER BY ${order.map(({ sql }) => sql).join(', ')}) AS place
         FROM page
     ), total AS (SELECT ${measures.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')} FROM groups)
     SELECT shown.values, shown.rank, ${[...shown('shown'), ...shown('total')].join(', ')}
       FROM total LEFT JOIN shown ON true ORDER BY shown.place`,
    params,
  );
  const read = (row: Record<string, unknown> | undefined, prefix: string) =>
    Object.fromEntries(measures.map((name) => [name, row?.[`${prefix}_${name}`] ?? '0'])) as Measures;
  return {
    total: read(rows[0], 'total'),
    groups: rows.flatMap((row) =>
      row.values === null ? [] : [{ values: row.values, rank: row.rank, ...read(row, 'shown') }],
    ),
  };
}

export async function findTimezone(db: Queryable, orgId: string): Promise<string> {
  const [row] = await db.query<{ timezone: string }>('SELECT timezone FROM orgs WHERE id = $1', [orgId]);
  return row?.timezone ?? 'UTC';
}
