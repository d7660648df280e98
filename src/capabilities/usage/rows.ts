/** The rows that usage is summed from, as a statement: from where, which of them, and what each of them counts as. */
import { dayRollups, midnightFor } from './rollups.ts';
import { type Field, fields, type Span } from './schema.ts';
import type { TimeRange } from './time-spans.ts';

/** A dimension of the groups: a column, a tag, or spans of time given by their beginnings. */
export type GroupBy =
  | { readonly kind: 'field'; readonly name: Field }
  | { readonly kind: 'tag'; readonly name: string }
  | { readonly kind: 'span'; readonly name: Span; readonly startsMs: readonly number[] };

export interface RowsWanted {
  readonly orgId: string;
  readonly range: TimeRange;
  readonly now: Date;
  readonly filters: Readonly<Partial<Record<Field, string>>>;
  /** Tags that the runs have to have, as JSON. */
  readonly tags?: string | undefined;
  readonly groupBy: readonly GroupBy[];
}

export const measures = [
  'runs',
  'failed_runs',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'usd_nanos',
  'value_nanos',
] as const;
export type Measure = (typeof measures)[number];

const columns: Partial<Record<Measure, string>> = {
  runs: 'requests',
  failed_runs: `CASE WHEN status = 'failed' THEN requests ELSE 0 END`,
};
/** Where everything is summed together, failures have a column of their own. */
const columnsOfTotals: Partial<Record<Measure, string>> = { runs: 'requests', failed_runs: 'failed' };

/** Collects the parameters of a statement; answers with the name of each. */
export class Params {
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

/**
 * For each row the values of the dimensions as v0, v1, the measures, `latencies`, and `sign`, which is -1 for what is
 * taken away from others.
 */
export function selectRows(wanted: RowsWanted, params: Params): string {
  const { range, groupBy } = wanted;
  const nowMs = wanted.now.getTime();
  const within = conditionsOf(wanted, params);
  /** `at`: an instant by which the row's span is known, and `moved`: where cuts were moved to. */
  const select = (
    at: string,
    moved: (cutMs: number) => number,
    { sign = '1', names = columns }: { sign?: string; names?: typeof columns } = {},
  ) => {
    const values = groupBy.map((one, index) => `${groupedValue(one, at, moved, params)} AS v${index}`);
    const sums = measures.map(
      (name) => `${sign === '1' ? '' : `${sign} * `}${names[name] ?? name} AS ${name}`,
    );
    return `SELECT ${[...values, ...sums, 'latencies', `${sign} AS sign`].join(', ')}`;
  };
  if (isAboutTimeAlone(wanted)) {
    const [from, to] = boundsOf(range, params);
    return `${select('bucket', unmoved, { names: columnsOfTotals })} FROM usage_totals ${within('bucket', from, to)}`;
  }
  const rollups = dayRollups(range, cutsOf(wanted), nowMs);
  if (rollups === undefined) {
    const [from, to] = boundsOf(range, params);
    return `${select('bucket', unmoved)} FROM usage_rollups ${within('bucket', from, to)}`;
  }
  const [from, to] = boundsOf(rollups.days, params);
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
  return `${select('day', (ms) => midnightFor(ms, nowMs))} FROM usage_days ${within('day', from, to)}
     UNION ALL
     ${select('c.span', unmoved, { sign: 'c.sign' })}
       FROM unnest(${lists.join(', ')}) AS c(span, starts_at, ends_at, sign)
      CROSS JOIN LATERAL (SELECT * FROM usage_rollups ${within('bucket', 'c.starts_at', 'c.ends_at')} OFFSET 0) AS quarters`;
}

const unmoved = (cutMs: number) => cutMs;

function isAboutTimeAlone({ filters, tags, groupBy }: RowsWanted): boolean {
  return (
    tags === undefined && Object.keys(filters).length === 0 && groupBy.every(({ kind }) => kind === 'span')
  );
}

function groupedValue(one: GroupBy, at: string, moved: (cutMs: number) => number, params: Params): string {
  switch (one.kind) {
    case 'field':
      return one.name;
    case 'tag':
      return `coalesce(tags ->> ${params.add(one.name, 'text')}, '')`;
    case 'span':
      return `width_bucket(${at}, ${params.addInstants(one.startsMs.map(moved))})`;
  }
}

function conditionsOf({ orgId, filters, tags }: RowsWanted, params: Params) {
  const org = params.add(orgId, 'text');
  const conditions = fields.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [` AND ${name} = ${params.add(value, 'text')}`];
  });
  if (tags !== undefined) {
    conditions.push(` AND tags @> ${params.add(tags, 'jsonb')}`);
  }
  return (column: string, from: string, to: string) =>
    `WHERE org_id = ${org} AND ${column} >= ${from} AND ${column} < ${to}${conditions.join('')}`;
}

function boundsOf({ fromMs, toMs }: TimeRange, params: Params): [string, string] {
  return [params.add(new Date(fromMs), 'timestamptz'), params.add(new Date(toMs), 'timestamptz')];
}

/** Where spans begin inside of the range. */
function cutsOf({ range, groupBy }: RowsWanted): number[] {
  const starts = groupBy.flatMap((one) => (one.kind === 'span' ? one.startsMs : []));
  return [...new Set(starts)].filter((ms) => range.fromMs < ms && ms < range.toMs).sort((a, b) => a - b);
}
