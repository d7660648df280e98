/** Builds the SQL of the rows that usage is summed from: the source table, the conditions and the sign of each row. */
import { type UsageDimension, usageDimensions } from '../../../contract/run-dimensions.ts';
import { type RollupPart, rollupParts, type TimeRange } from '../../../kernel/rollup-parts.ts';
import { usageMeasures } from '../../../ledger/usage/usage-columns.ts';
import type { UsageSpan } from './schema.ts';

/** A grouping: a column, a tag, or time spans given by their start. */
export type GroupBy =
  | ({ readonly kind: 'field'; readonly name: UsageDimension } & AmongValues)
  | ({ readonly kind: 'tag'; readonly name: string } & AmongValues)
  /** By kind of usage: the cost of a row belongs to several groups. */
  | ({ readonly kind: 'part'; readonly name: 'kind' } & AmongValues)
  | { readonly kind: 'span'; readonly name: UsageSpan; readonly startsMs: readonly number[] };

interface AmongValues {
  /**
   * Groups by these values only. The value of a group is then the number of its value in the list, from 1; 0 without a value and -1
   * for all other values together.
   */
  readonly among?: readonly string[];
}

export interface RowsRequest {
  readonly orgId: string;
  readonly range: TimeRange;
  readonly now: Date;
  readonly filters: Readonly<Partial<Record<UsageDimension, string>>>;
  /** Tags that the runs must have, as JSON. */
  readonly tags?: string | undefined;
  /** Names of tags that the runs must not have. */
  readonly withoutTags?: readonly string[];
  /** Code of the kind of usage whose cost counts. */
  readonly part?: string | undefined;
  readonly groupBy: readonly GroupBy[];
}

/**
 * Measures that are columns under the same name. Latencies are summed as histograms, `requests` is reported as `runs`.
 */
const columnMeasures = usageMeasures.filter((name) => name !== 'requests' && name !== 'latency_ms');
export type Measure = 'runs' | 'failed_runs' | (typeof columnMeasures)[number];
export const measures: readonly Measure[] = ['runs', 'failed_runs', ...columnMeasures];
/** Null unless the rows are split by kind of usage. Such rows have no other measures but their cost. */
export const quantity = 'quantity';

interface UsageSource {
  readonly table: string;
  /** Name of the time column. */
  readonly column: string;
  readonly failedRuns: string;
}

const failedRuns = `CASE WHEN status = 'failed' THEN requests ELSE 0 END`;
const sources = {
  day: { table: 'usage_days', column: 'day', failedRuns },
  bucket: { table: 'usage_rollups', column: 'bucket', failedRuns },
} as const;
/** The totals have a separate column for failures. */
const totals: UsageSource = { table: 'usage_totals', column: 'bucket', failedRuns: 'failed' };

/** Collects the parameters of a statement; returns the placeholder of each. */
export class Params {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    return `$${this.values.push(value)}::${type}`;
  }

  addList<Item>(items: readonly Item[], toValue: (item: Item) => unknown, type: string): string {
    return this.add(items.map(toValue), `${type}[]`);
  }
}

/**
 * Selects for each row the values of the groupings as v0, v1, the measures, `quantity`, `latencies`, and `sign`, which is -1 for
 * rows that are subtracted.
 */
export function selectRows(wanted: RowsRequest, params: Params): string {
  const within = conditionsOf(wanted, params);
  const bySplit = isSplit(wanted);
  const splitCost =
    ' CROSS JOIN LATERAL cost_parts(found.parts, found.usd_nanos) AS split' +
    (wanted.part === undefined ? '' : ` WHERE split.code = ${params.add(wanted.part, 'text')}`);
  const select = ({ table, column, failedRuns }: UsageSource, parts: readonly PlacedPart[]) => {
    const values = wanted.groupBy.map((one, index) => `${groupedValue(one, index, params)} AS v${index}`);
    const columns: Partial<Record<Measure, string>> = { runs: 'requests', failed_runs: failedRuns };
    const sums = bySplit
      ? measures.map((name) => `${name === 'usd_nanos' ? 'part.sign * split.nanos' : '0'} AS ${name}`)
      : measures.map((name) => `part.sign * ${columns[name] ?? name} AS ${name}`);
    const rest = bySplit
      ? ['part.sign * split.quantity AS quantity', `''::bytea AS latencies`]
      : ['NULL::numeric AS quantity', 'latencies'];
    const lists = [
      params.addList(parts, ({ fromMs }) => new Date(fromMs), 'timestamptz'),
      params.addList(parts, ({ toMs }) => new Date(toMs), 'timestamptz'),
      params.addList(parts, ({ sign }) => sign, 'int4'),
      ...wanted.groupBy.map((_, index) => params.addList(parts, ({ places }) => places[index], 'int4')),
    ];
    const names = ['starts_at', 'ends_at', 'sign', ...wanted.groupBy.map((_, index) => `n${index}`)];
    // OFFSET 0 forces an index lookup for each part instead of a scan of all rows.
    return `SELECT ${[...values, ...sums, ...rest, 'part.sign'].join(', ')}
       FROM unnest(${lists.join(', ')}) AS part(${names.join(', ')})
      CROSS JOIN LATERAL (SELECT * FROM ${table} ${within(column, 'part.starts_at', 'part.ends_at')} OFFSET 0) AS found${bySplit ? splitCost : ''}`;
  };
  if (isTimeOnly(wanted)) {
    return select(
      totals,
      placedParts(wanted, (range) => [{ unit: 'bucket', sign: 1, ...range }]),
    );
  }
  const nowMs = wanted.now.getTime();
  const parts = placedParts(wanted, (range) => rollupParts(range, nowMs));
  return (['day', 'bucket'] as const)
    .map((unit) => [sources[unit], parts.filter((part) => part.unit === unit)] as const)
    .filter(([, ofUnit]) => ofUnit.length > 0)
    .map(([source, ofUnit]) => select(source, ofUnit))
    .join(' UNION ALL ');
}

/** Returns whether the totals are sufficient, which are few rows however many scopes there are. */
export function isTimeOnly({ filters, tags, withoutTags = [], groupBy }: RowsRequest): boolean {
  return (
    tags === undefined &&
    withoutTags.length === 0 &&
    Object.keys(filters).length === 0 &&
    groupBy.every(({ kind }) => kind === 'span' || kind === 'part')
  );
}

/** Returns whether the cost of each row is split by kind of usage. */
export function isSplit({ part, groupBy }: Pick<RowsRequest, 'part' | 'groupBy'>): boolean {
  return part !== undefined || isByKind(groupBy);
}

export function isByKind(groupBy: readonly GroupBy[]): boolean {
  return groupBy.some(({ kind }) => kind === 'part');
}

interface PlacedPart extends RollupPart {
  /** For each grouping the number of its span, from 1; 0 for a grouping that is not by time. */
  readonly places: readonly number[];
}

/** Splits the range at every start of a span. */
function placedParts(
  { range, groupBy }: RowsRequest,
  partsOf: (range: TimeRange) => RollupPart[],
): PlacedPart[] {
  const startsOf = (one: GroupBy) => (one.kind === 'span' ? one.startsMs : []);
  const inside = groupBy.flatMap(startsOf).filter((ms) => range.fromMs < ms && ms < range.toMs);
  const cuts = [range.fromMs, ...[...new Set(inside)].sort((a, b) => a - b), range.toMs];
  const places = groupBy.map(() => 0);
  return cuts.slice(0, -1).flatMap((fromMs, index) => {
    for (const [dimension, one] of groupBy.entries()) {
      const starts = startsOf(one);
      while ((starts[places[dimension] as number] ?? Number.POSITIVE_INFINITY) <= fromMs) {
        places[dimension] = (places[dimension] as number) + 1;
      }
    }
    const placed = [...places];
    return partsOf({ fromMs, toMs: cuts[index + 1] as number }).map((part) => ({ ...part, places: placed }));
  });
}

function groupedValue(one: GroupBy, index: number, params: Params): string {
  if (one.kind === 'span') {
    return `part.n${index}`;
  }
  const value = groupedColumn(one, params);
  return one.among === undefined
    ? value
    : `CASE WHEN ${value} = '' THEN 0 ELSE coalesce(array_position(${params.add(one.among, 'text[]')}, ${value}), -1) END`;
}

function groupedColumn(one: Exclude<GroupBy, { kind: 'span' }>, params: Params): string {
  switch (one.kind) {
    case 'field':
      return one.name;
    case 'tag':
      return tagValue(one.name, params);
    case 'part':
      return 'split.code';
  }
}

function tagValue(name: string, params: Params): string {
  return `coalesce(tags ->> ${params.add(name, 'text')}, '')`;
}

function conditionsOf({ orgId, filters, tags, withoutTags = [] }: RowsRequest, params: Params) {
  const org = params.add(orgId, 'text');
  const conditions = usageDimensions.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [` AND ${name} = ${params.add(value, 'text')}`];
  });
  if (tags !== undefined) {
    conditions.push(` AND tags @> ${params.add(tags, 'jsonb')}`);
  }
  conditions.push(...withoutTags.map((name) => ` AND ${tagValue(name, params)} = ''`));
  return (column: string, from: string, to: string) =>
    `WHERE org_id = ${org} AND ${column} >= ${from} AND ${column} < ${to}${conditions.join('')}`;
}
