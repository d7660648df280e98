import type { Queryable } from '../../platform/db/database.ts';
import { dayRollups, midnightFor } from './rollups.ts';
import { type Field, fields, type Span } from './schema.ts';
import type { TimeRange } from './time-spans.ts';

/** A dimension of the groups: a column, or spans of time given by their beginnings. */
export type GroupBy =
  | { readonly kind: 'field'; readonly name: Field }
  | { readonly kind: 'span'; readonly name: Span; readonly startsMs: readonly number[] };

export interface UsageRequest {
  readonly orgId: string;
  readonly range: TimeRange;
  readonly now: Date;
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

const columns = { runs: 'requests' } as Partial<Record<(typeof measures)[number], string>>;

/** Collects the parameters of a statement; answers with the name of each. */
class Params {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    return `$${this.values.push(value)}::${type}`;
  }

  addInstants(instantsMs: readonly number[]): string {
    return this.add(
      instantsMs.map((ms) => new Date(ms)),
      'timestamptz[]',
    );
  }
}

/** The rows that the groups are made of: for each the values of the dimensions as v0, v1, and the measures. */
function selectRows(request: UsageRequest, params: Params): string {
  const { orgId, range, filters, groupBy } = request;
  const nowMs = request.now.getTime();
  const org = params.add(orgId, 'text');
  const conditions = fields.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [` AND ${name} = ${params.add(value, 'text')}`];
  });
  const within = (column: string, from: string, to: string) =>
    `WHERE org_id = ${org} AND ${column} >= ${from} AND ${column} < ${to}${conditions.join('')}`;
  /** `at`: an instant by which the row's span is known, and `moved`: where cuts were moved to. */
  const select = (at: string, moved: (cutMs: number) => number, sign: string) => {
    const values = groupBy.map((one, index) =>
      one.kind === 'field'
        ? `${one.name} AS v${index}`
        : `width_bucket(${at}, ${params.addInstants(one.startsMs.map(moved))}) AS v${index}`,
    );
    return `SELECT ${[...values, ...measures.map((name) => `${sign}${columns[name] ?? name} AS ${name}`)].join(', ')}`;
  };
  const starts = groupBy.flatMap((one) => (one.kind === 'span' ? one.startsMs : []));
  const cuts = [...new Set(starts)]
    .filter((ms) => range.fromMs < ms && ms < range.toMs)
    .sort((a, b) => a - b);
  const rollups = dayRollups(range, cuts, nowMs);
  const [from, to] = [rollups?.days ?? range].flatMap(({ fromMs, toMs }) => [
    params.add(new Date(fromMs), 'timestamptz'),
    params.add(new Date(toMs), 'timestamptz'),
  ]) as [string, string];
  if (rollups === undefined) {
    return `${select('bucket', (ms) => ms, '')} FROM usage_rollups ${within('bucket', from, to)}`;
  }
  const { corrections } = rollups;
  const lists = [
    params.addInstants(corrections.map(({ spanMs }) => spanMs)),
    params.addInstants(corrections.map(({ fromMs }) => fromMs)),
    params.addInstants(corrections.map(({ toMs }) => toMs)),
    params.add(
      corrections.map(({ sign }) => sign),
      'int4[]',
    ),
  ];
  // OFFSET 0: each correction is looked up by itself, and not by reading all quarters there are.
  return `${select('day', (ms) => midnightFor(ms, nowMs), '')} FROM usage_days ${within('day', from, to)}
     UNION ALL
     ${select('c.span', (ms) => ms, 'c.sign * ')}
       FROM unnest(${lists.join(', ')}) AS c(span, starts_at, ends_at, sign)
      CROSS JOIN LATERAL (SELECT * FROM usage_rollups ${within('bucket', 'c.starts_at', 'c.ends_at')} OFFSET 0) AS quarters`;
}

/**
 * Spans of time first, in their order; then what cost most; then by value, so that the order is always the same.
 * One statement, so that the total is the sum of what the pages hold at that moment.
 */
export async function sumUsage(db: Queryable, request: UsageRequest): Promise<UsageSums> {
  const params = new Params();
  const rows = selectRows(request, params);
  const values = request.groupBy.map((_, index) => `v${index}`);
  const isSpan = (index: number) => request.groupBy[index]?.kind === 'span';
  const order = [
    ...values.flatMap((sql, index) => (isSpan(index) ? [{ sql, type: 'int8' }] : [])),
    { sql: '-usd_nanos', type: 'numeric' },
    ...values.flatMap((sql, index) => (isSpan(index) ? [] : [{ sql, type: 'text' }])),
  ];
  const { after } = request;
  const goOn =
    after === undefined
      ? ''
      : `WHERE (${order.map(({ sql }) => sql).join(', ')}) > (${order
          .map(({ type }, index) => params.add(after[index], type))
          .join(', ')})`;
  // Of a day that is only partly in the range, what is given back may be all there was.
  const grouping =
    values.length === 0 ? '' : `GROUP BY ${values.join(', ')} HAVING sum(runs) <> 0 OR sum(usd_nanos) <> 0`;
  const shown = (prefix: string) => measures.map((name) => `${prefix}.${name}::text AS ${prefix}_${name}`);
  const found = await db.query<Record<string, string> & { values: string[] | null; rank: string[] }>(
    `WITH rows AS (
       ${rows}
     ), groups AS (
       SELECT ${[...values, ...measures.map((name) => `coalesce(sum(${name}), 0) AS ${name}`)].join(', ')} FROM rows
        ${grouping}
     ), page AS (
       SELECT * FROM groups ${goOn} ORDER BY ${order.map(({ sql }) => sql).join(', ')} LIMIT ${params.add(request.limit, 'int8')}
     ), shown AS (
       SELECT *, ARRAY[${values.map((sql) => `${sql}::text`).join(', ')}]::text[] AS values,
              ARRAY[${order.map(({ sql }) => `(${sql})::text`).join(', ')}] AS rank,
              row_number() OVER (ORDER BY ${order.map(({ sql }) => sql).join(', ')}) AS place
         FROM page
     ), total AS (SELECT ${measures.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')} FROM groups)
     SELECT shown.values, shown.rank, ${[...shown('shown'), ...shown('total')].join(', ')}
       FROM total LEFT JOIN shown ON true ORDER BY shown.place`,
    params.values,
  );
  const read = (row: Record<string, unknown> | undefined, prefix: string) =>
    Object.fromEntries(measures.map((name) => [name, row?.[`${prefix}_${name}`] ?? '0'])) as Measures;
  return {
    total: read(found[0], 'total'),
    groups: found.flatMap((row) =>
      row.values === null ? [] : [{ values: row.values, rank: row.rank, ...read(row, 'shown') }],
    ),
  };
}

export async function findTimezone(db: Queryable, orgId: string): Promise<string> {
  const [row] = await db.query<{ timezone: string }>('SELECT timezone FROM orgs WHERE id = $1', [orgId]);
  return row?.timezone ?? 'UTC';
}
