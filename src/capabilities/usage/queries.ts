import { type Histogram, mergeInto, readInto } from '../../kernel/latency-histogram.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { type Measure, measures, Params, type RowsWanted, selectRows } from './rows.ts';

export interface GroupsWanted extends RowsWanted {
  /** Only these groups, by their values; the total is that of all. */
  readonly only?: readonly (readonly string[])[];
  /** Whether anyone wants to know how long runs took: that is most of what there is to read. */
  readonly latencies?: boolean;
}

export interface UsageRequest extends GroupsWanted {
  /** The order of the group to go on after. */
  readonly after: readonly string[] | undefined;
  readonly limit: number;
}

export type Measures = Readonly<Record<Measure, string>>;

export interface Sums extends Measures {
  /** Empty where it was not asked for. */
  readonly latencies: Histogram;
}

export interface UsageGroup extends Sums {
  /** For each dimension its value: a text, empty for none, or the number of the span, from 1. */
  readonly values: readonly string[];
  /** What the order goes by. */
  readonly rank: readonly string[];
}

export interface UsageSums {
  /** How many groups there are on all pages. */
  readonly count: number;
  readonly total: Sums;
  readonly groups: readonly UsageGroup[];
}

interface Found {
  readonly values: readonly string[] | null;
  readonly rank: readonly string[];
  readonly shown_added: Uint8Array | null;
  readonly shown_taken: Uint8Array | null;
  readonly total_added: Uint8Array | null;
  readonly total_taken: Uint8Array | null;
  readonly group_count: bigint;
  readonly complete: boolean;
}

/** The groups of a question, as a statement. */
interface GroupsAsked {
  /** Names `rows`, and `groups` with a row for each. */
  readonly sql: string;
  /** The columns of a group's values. */
  readonly values: readonly string[];
  /** Spans of time first, in their order; then what cost most; then by value, so that the order is always the same. */
  readonly order: readonly { readonly sql: string; readonly type: string }[];
  gathered(condition: string, column?: string): string;
}

function askForGroups(wanted: GroupsWanted, params: Params): GroupsAsked {
  const { groupBy, latencies = false } = wanted;
  const values = groupBy.map((_, index) => `v${index}`);
  const isSpan = (index: number) => groupBy[index]?.kind === 'span';
  const gathered = (condition: string, column = 'latencies') =>
    latencies ? `string_agg(${column}, ''::bytea) FILTER (WHERE ${condition})` : 'NULL::bytea';
  // Of a day that is only partly in the range, what is given back may be all there was.
  const grouping =
    values.length === 0 ? '' : `GROUP BY ${values.join(', ')} HAVING sum(runs) <> 0 OR sum(usd_nanos) <> 0`;
  return {
    values,
    order: [
      ...values.flatMap((sql, index) => (isSpan(index) ? [{ sql, type: 'int8' }] : [])),
      { sql: '-usd_nanos', type: 'numeric' },
      ...values.flatMap((sql, index) => (isSpan(index) ? [] : [{ sql, type: 'text' }])),
    ],
    gathered,
    sql: `rows AS (
       ${selectRows(wanted, params)}
     ), groups AS (
       SELECT ${[...values, ...measures.map((name) => `coalesce(sum(${name}), 0) AS ${name}`)].join(', ')},
              ${gathered('sign > 0')} AS added, ${gathered('sign < 0')} AS taken
         FROM rows
        ${grouping}
     )`,
  };
}

/** A group as it was found: many of them take less room so, and are read when they are needed. */
export interface FoundGroup extends Measures {
  readonly values: readonly string[];
  readonly added: Uint8Array | null;
  readonly taken: Uint8Array | null;
}

/** The groups alone, of one moment. */
export async function findGroups(
  db: Queryable,
  wanted: GroupsWanted & { readonly limit: number },
): Promise<FoundGroup[]> {
  const params = new Params();
  const { sql, values, order } = askForGroups(wanted, params);
  const { only } = wanted;
  return db.query<FoundGroup>(
    `WITH ${sql}
     SELECT ARRAY[${values.map((one) => `${one}::text`).join(', ')}]::text[] AS values,
            ${measures.map((name) => `${name}::text AS ${name}`).join(', ')}, added, taken
       FROM groups ${only === undefined || values.length === 0 ? '' : `WHERE ${amongGroups(values, only, params)}`}
      ORDER BY ${order.map((one) => one.sql).join(', ')} LIMIT ${params.add(wanted.limit, 'int8')}`,
    params.values,
  );
}

export function readGroup({ added, taken, ...group }: FoundGroup): Omit<UsageGroup, 'rank'> {
  return { ...group, latencies: histogramOf(added, taken) };
}

/** One statement, so that the total is the sum of what the pages hold at that moment. */
export async function sumUsage(db: Queryable, request: UsageRequest): Promise<UsageSums> {
  const params = new Params();
  const { after, only } = request;
  const { sql: groupsSql, values, order, gathered } = askForGroups(request, params);
  const conditions = [
    ...(after === undefined
      ? []
      : [
          `(${order.map(({ sql }) => sql).join(', ')}) > (${order
            .map(({ type }, index) => params.add(after[index], type))
            .join(', ')})`,
        ]),
    ...(only === undefined || values.length === 0 ? [] : [amongGroups(values, only, params)]),
  ];
  const limited = params.add(request.limit, 'int8');
  const shown = (prefix: string) => measures.map((name) => `${prefix}.${name}::text AS ${prefix}_${name}`);
  const found = await db.query<Found & Record<string, unknown>>(
    `WITH ${groupsSql}, page AS (
       SELECT * FROM groups ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
        ORDER BY ${order.map(({ sql }) => sql).join(', ')} LIMIT ${limited}
     ), shown AS (
       SELECT *, ARRAY[${values.map((sql) => `${sql}::text`).join(', ')}]::text[] AS values,
              ARRAY[${order.map(({ sql }) => `(${sql})::text`).join(', ')}] AS rank,
              row_number() OVER (ORDER BY ${order.map(({ sql }) => sql).join(', ')}) AS place
         FROM page
     ), total AS (
       SELECT ${measures.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')},
              count(*) AS group_count, count(*) = (SELECT count(*) FROM page) AS complete,
              ${gathered('count_of_page < count_of_groups', 'added')} AS added,
              ${gathered('count_of_page < count_of_groups', 'taken')} AS taken
         FROM groups CROSS JOIN (SELECT (SELECT count(*) FROM page) AS count_of_page,
                                        (SELECT count(*) FROM groups) AS count_of_groups) AS counts
     )
     SELECT shown.values, shown.rank, ${[...shown('shown'), ...shown('total')].join(', ')}, total.group_count, total.complete,
            shown.added AS shown_added, shown.taken AS shown_taken,
            CASE WHEN coalesce(shown.place, 1) = 1 THEN total.added END AS total_added,
            CASE WHEN coalesce(shown.place, 1) = 1 THEN total.taken END AS total_taken
       FROM total LEFT JOIN shown ON true ORDER BY shown.place`,
    params.values,
  );
  const read = (row: Record<string, unknown> | undefined, prefix: string) =>
    Object.fromEntries(measures.map((name) => [name, row?.[`${prefix}_${name}`] ?? '0'])) as Measures;
  const groups = found.flatMap((row) =>
    row.values === null
      ? []
      : [
          {
            values: row.values,
            rank: row.rank,
            ...read(row, 'shown'),
            latencies: histogramOf(row.shown_added, row.shown_taken),
          },
        ],
  );
  const [first] = found;
  // Where the page has every group, theirs are not sent a second time.
  const whole = histogramOf(first?.total_added ?? null, first?.total_taken ?? null);
  if (first?.complete === true) {
    for (const group of groups) {
      mergeInto(whole, group.latencies);
    }
  }
  return {
    count: Number(first?.group_count ?? 0),
    total: { ...read(first, 'total'), latencies: whole },
    groups,
  };
}

function amongGroups(
  values: readonly string[],
  only: readonly (readonly string[])[],
  params: Params,
): string {
  const lists = values.map((_, index) =>
    params.add(
      only.map((group) => group[index]),
      'text[]',
    ),
  );
  return `(${values.map((sql) => `${sql}::text`).join(', ')}) IN (SELECT * FROM unnest(${lists.join(', ')}))`;
}

function histogramOf(added: Uint8Array | null, taken: Uint8Array | null): Histogram {
  const histogram: Histogram = new Map();
  if (added !== null) {
    readInto(histogram, added, 1);
  }
  if (taken !== null) {
    readInto(histogram, taken, -1);
  }
  return histogram;
}

export async function findTimezone(db: Queryable, orgId: string): Promise<string> {
  const [row] = await db.query<{ timezone: string }>('SELECT timezone FROM orgs WHERE id = $1', [orgId]);
  return row?.timezone ?? 'UTC';
}
