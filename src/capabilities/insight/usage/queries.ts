import { type Histogram, mergeInto, readInto } from '../../../kernel/latency-histogram.ts';
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import {
  isByKind,
  isTimeOnly,
  type Measure,
  measures,
  Params,
  quantity,
  type RowsRequest,
  selectRows,
} from './rows.ts';
import type { ExportParts, TakeLines } from './spooled-exports.ts';

/** A time range, with the grouping in it. */
export type TimesOf = Pick<RowsRequest, 'range' | 'groupBy'>;

/** The requested range, and an earlier range to compare with. */
export interface Times {
  readonly range: TimeRange;
  readonly before?: TimesOf | undefined;
}

export interface GroupsRequest extends RowsRequest, Times {
  /** True if latency histograms are needed; they are most of the data to read. */
  readonly latencies?: boolean;
}

export interface UsageRequest extends GroupsRequest {
  /** Sort key of the last group of the previous page. */
  readonly after: readonly string[] | undefined;
  readonly limit: number;
  /** Restricts the groups to this range; the total covers the whole range. */
  readonly within?: Times | undefined;
}

export type Measures = Readonly<Record<Measure, string>>;

export interface GroupSums extends Measures {
  /** Null unless the usage is split by kind. */
  readonly quantity: string | null;
  /** Empty unless latencies were requested. */
  readonly latencies: Histogram;
}

export interface UsageGroup extends GroupSums {
  /** Value of each grouping: a text, empty for none, or the number of the span, from 1. */
  readonly values: readonly string[];
  /** Sums of the same group in the earlier range, if requested. */
  readonly previous: GroupSums | undefined;
}

export interface RankedGroup extends UsageGroup {
  /** Sort key. */
  readonly rank: readonly string[];
}

export interface SummedUsage {
  readonly total: GroupSums & Pick<UsageGroup, 'previous'>;
  readonly groups: readonly RankedGroup[];
}

/** Prefixes of the columns for the requested and the earlier range. */
const sides = ['now', 'was'] as const;
type Side = (typeof sides)[number];

/** SQL of the groups of a request. */
interface GroupsSql {
  /** Common table expression, by default called `groups`, with a row for each group in either range. */
  readonly sql: string;
  /** Columns of a group's values. */
  readonly values: readonly string[];
  readonly sides: readonly Side[];
  /** Condition that a group has usage in the requested range. */
  readonly present: string;
  /** Time spans in their order, then the highest cost, then by value, so that the order is total. */
  readonly order: readonly { readonly sql: string; readonly type: string }[];
}

function groupsSql(wanted: GroupsRequest, params: Params, name = 'groups'): GroupsSql {
  const { groupBy, before, latencies = false } = wanted;
  const values = groupBy.map((_, index) => `v${index}`);
  const isSpan = (index: number) => groupBy[index]?.kind === 'span';
  const rows = [
    { side: 'now', of: wanted },
    ...(before ? [{ side: 'was', of: { ...wanted, ...before } }] : []),
  ];
  const usedSides = sides.slice(0, rows.length);
  const columns = usedSides.flatMap((side) => [
    ...measures.map((name) => `coalesce(sum(${name}) FILTER (WHERE side = '${side}'), 0) AS ${side}_${name}`),
    `sum(${quantity}) FILTER (WHERE side = '${side}') AS ${side}_${quantity}`,
    ...signs.map(
      ([name, sign]) =>
        `${latencies ? `string_agg(latencies, ''::bytea) FILTER (WHERE side = '${side}' AND sign = ${sign})` : 'NULL::bytea'} AS ${side}_${name}`,
    ),
  ]);
  return {
    values,
    sides: usedSides,
    // Omits groups whose sums are zero: if a day is only partly in the range, the subtracted buckets may be all of its
    // usage.
    present:
      values.length === 0
        ? 'true'
        : '(now_runs <> 0 OR now_usd_nanos <> 0 OR coalesce(now_quantity, 0) <> 0)',
    order: [
      ...values.flatMap((sql, index) => (isSpan(index) ? [{ sql, type: 'int8' }] : [])),
      { sql: '-now_usd_nanos', type: 'numeric' },
      ...values.flatMap((sql, index) => (isSpan(index) ? [] : [{ sql, type: 'text' }])),
    ],
    sql: `${name} AS (
       SELECT ${[...values, ...columns].join(', ')}
         FROM (${rows.map(({ side, of }) => `SELECT *, '${side}' AS side FROM (${selectRows(of, params)}) AS ${side}_rows`).join(' UNION ALL ')}) AS rows
        ${values.length === 0 ? '' : `GROUP BY ${values.join(', ')}`}
     )`,
  };
}

const signs = [
  ['added', 1],
  ['taken', -1],
] as const;

/** Reads groups in parts from a cursor, as a consistent snapshot and in order; each line is a JSON array of texts. */
export async function readGroups(
  tx: Transaction,
  wanted: GroupsRequest,
  { limit, perPart }: ExportParts,
  take: TakeLines,
): Promise<void> {
  const params = new Params();
  const { sql, values, sides: usedSides, present, order } = groupsSql(wanted, params);
  const columns = [
    ...values.map((one) => `${one}::text`),
    ...usedSides.flatMap((side) => [
      ...[...measures, quantity].map((name) => `${side}_${name}::text`),
      ...signs.map(([name]) => `encode(${side}_${name}, 'hex')`),
    ]),
  ];
  await fetchLines(
    tx,
    `WITH ${sql}
     SELECT to_json(ARRAY[${columns.join(', ')}])::text AS line FROM groups WHERE ${present}
      ORDER BY ${order.map((one) => one.sql).join(', ')} LIMIT ${params.add(limit, 'int8')}`,
    params,
    { perPart, take },
  );
}

/** Runs a query that returns a column `line`, with a cursor, so that not all of its rows are in memory. */
export async function fetchLines(
  tx: Transaction,
  sql: string,
  params: Params,
  { perPart, take }: { readonly perPart: number; readonly take: TakeLines },
): Promise<void> {
  await tx.query(`DECLARE exported_lines NO SCROLL CURSOR FOR ${sql}`, params.values);
  for (let found = perPart; found === perPart; ) {
    const rows = await tx.query<{ line: string }>(`FETCH ${perPart} FROM exported_lines`);
    found = rows.length;
    await take(rows.map(({ line }) => line));
  }
}

export const zeroSums: GroupSums = {
  ...(Object.fromEntries(measures.map((name) => [name, '0'])) as Measures),
  quantity: null,
  latencies: new Map(),
};

/** Parses a line of `readGroups`. */
export function parseGroup(line: string, { groupBy, before }: GroupsRequest): UsageGroup {
  const cells = JSON.parse(line) as (string | null)[];
  let at = groupBy.length;
  const next = () => cells[at++] ?? null;
  const sums = (): GroupSums => ({
    ...(Object.fromEntries(measures.map((name) => [name, next()])) as Measures),
    quantity: next(),
    latencies: histogramOf(bytesIn(next()), bytesIn(next())),
  });
  return {
    values: cells.slice(0, groupBy.length).map(String),
    ...sums(),
    previous: before && sums(),
  };
}

function bytesIn(hex: string | null): Uint8Array | null {
  return hex === null ? null : Buffer.from(hex, 'hex');
}

interface RankedValues {
  readonly values: readonly string[];
  readonly rank: readonly string[];
  /** Null if there is a total but no group. */
  readonly place: bigint | null;
  readonly complete: boolean;
  readonly [column: string]: unknown;
}

/** Uses one statement, so that the total is consistent with the page. */
export async function sumUsage(db: Queryable, request: UsageRequest): Promise<SummedUsage> {
  const params = new Params();
  const { after, within, before } = request;
  const { sql, values, sides: usedSides, present, order } = groupsSql({ ...request, ...within }, params);
  const all = { ...request, groupBy: [], before: before && { ...before, groupBy: [] } };
  const everything = groupsSql(all, params, 'everything');
  // With `within`, the total is summed from its own rows, which are few unless there are filters. Otherwise it is
  // summed from the groups, so that their rows are not read twice; latencies without filters still come from few rows. Groups by kind
  // have no runs to sum.
  const areWhole = within === undefined && !isByKind(request.groupBy);
  const from = areWhole ? 'groups' : 'everything';
  const latenciesFrom = areWhole && !isTimeOnly(all) ? 'groups' : 'everything';
  const ordered = order.map((one) => one.sql).join(', ');
  const following =
    after === undefined
      ? ''
      : `AND (${ordered}) > (${order.map(({ type }, index) => params.add(after[index], type)).join(', ')})`;
  const sums = usedSides.flatMap((side) => measures.map((name) => `${side}_${name}`));
  const quantities = usedSides.map((side) => `${side}_${quantity}`);
  const bytes = usedSides.flatMap((side) => signs.map(([name]) => `${side}_${name}`));
  const found = await db.query<RankedValues>(
    `WITH ${sql}, ${everything.sql}, page AS (
       SELECT *, row_number() OVER (ORDER BY ${ordered}) AS place
         FROM groups WHERE ${present} ${following} ORDER BY ${ordered} LIMIT ${params.add(request.limit, 'int8')}
     ), counted AS (
       SELECT ${areWhole ? '(SELECT count(*) FROM groups) = (SELECT count(*) FROM page)' : 'false'} AS complete
     ), total AS (
       SELECT ${[...sums.map((name) => `coalesce(sum(${name}), 0)::text AS total_${name}`), ...quantities.map((name) => `sum(${name})::text AS total_${name}`)].join(', ')} FROM ${from}
     )
     SELECT ARRAY[${values.map((one) => `${one}::text`).join(', ')}]::text[] AS values, place, complete,
            ARRAY[${order.map((one) => `(${one.sql})::text`).join(', ')}] AS rank, total.*,
            ${[...[...sums, ...quantities].map((name) => `${name}::text`), ...bytes].join(', ')},
            ${bytes.map((name) => `CASE WHEN NOT complete AND coalesce(place, 1) = 1 THEN (SELECT string_agg(${name}, ''::bytea) FROM ${latenciesFrom}) END AS total_${name}`).join(', ')}
       FROM counted CROSS JOIN total LEFT JOIN page ON true ORDER BY place`,
    params.values,
  );
  const [first] = found;
  const groups = found.flatMap((row) =>
    row.place === null ? [] : [{ ...groupOf(row, ''), rank: row.rank }],
  );
  const total = groupOf(first, 'total_');
  // If the page has every group, their histograms are not returned a second time for the total; otherwise they come
  // with the first row.
  for (const group of first?.complete === true ? groups : []) {
    mergeInto(total.latencies, group.latencies);
    mergeInto(total.previous?.latencies ?? new Map(), group.previous?.latencies ?? new Map());
  }
  return { total, groups };
}

function groupOf(row: RankedValues | undefined, prefix: '' | 'total_'): UsageGroup {
  const sumsOf = (side: Side): GroupSums => {
    const cell = (name: string) => row?.[`${prefix}${side}_${name}`];
    const bytes = signs.map(([name]) => (cell(name) ?? null) as Uint8Array | null);
    return {
      ...(Object.fromEntries(measures.map((name) => [name, cell(name) ?? '0'])) as Measures),
      quantity: (cell(quantity) ?? null) as string | null,
      latencies: histogramOf(bytes[0] ?? null, bytes[1] ?? null),
    };
  };
  const hasPrevious = row !== undefined && 'was_runs' in row;
  return { values: row?.values ?? [], ...sumsOf('now'), previous: hasPrevious ? sumsOf('was') : undefined };
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
