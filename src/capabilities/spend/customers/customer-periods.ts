/** Usage of customers in a period: cost, runs, the last day with runs and the cost of each day. */
import { invalidField } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { decodeCursor, encodeCursor, pageSize } from '../../../platform/http/routes/list.ts';
import {
  findTimezone,
  type GroupBy,
  Params,
  selectRows,
  spanLabel,
  spanStarts,
  usageRange,
} from '../../insight/usage/index.ts';
import { type CustomerFilters, type CustomerPeriod, customerSorts } from './schema.ts';

const trendDaysMax = 92;

/** A period of an org, split into its days. */
export interface PeriodPlan {
  readonly orgId: string;
  readonly now: Date;
  readonly timezone: string;
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly days: Extract<GroupBy, { kind: 'span' }>;
  readonly withTrend: boolean;
}

/** Returns the period of a list; undefined if the query does not request one. */
export async function planPeriod(
  db: Queryable,
  orgId: string,
  query: CustomerFilters,
  now: Date,
): Promise<PeriodPlan | undefined> {
  const isWanted =
    query.from !== undefined || query.to !== undefined || query.trend === true || isByPeriod(query.sort);
  if (!isWanted) {
    return undefined;
  }
  const timezone = await findTimezone(db, orgId);
  const range = usageRange(query, timezone, now);
  const startsMs = spanStarts('day', timezone, range);
  if (query.trend === true && startsMs.length > trendDaysMax) {
    throw invalidField('trend', 'out_of_range', `Requires a range of at most ${trendDaysMax} days.`);
  }
  const days = { kind: 'span', name: 'day', startsMs } as const;
  return { orgId, now, timezone, range, days, withTrend: query.trend === true };
}

/** Sort fields by usage in the period, with their columns of `spent` below. */
const orders = {
  'period.cost_usd': 'usd_nanos',
  'period.runs': 'runs',
  'period.last_active_on': 'last_day',
} as const;
type PeriodSort = keyof typeof orders;

export function isByPeriod(sort = ''): boolean {
  return Object.hasOwn(orders, sort.replace('-', ''));
}

interface PeriodRow {
  readonly customer_id: string;
  /** An integer as text, because sums of backfilled runs may exceed 64 bits. */
  readonly usd_nanos: string;
  readonly runs: bigint;
  /** Number of the last day with runs, from 1; 0 if there were only corrections. */
  readonly last_day: bigint;
  /** Pairs of a day's number and its cost. */
  readonly costs: readonly (readonly [number, string])[] | null;
}

/** Returns the usage of these customers in the period; customers without usage are omitted. */
export async function periodsOf(
  db: Queryable,
  plan: PeriodPlan,
  customerIds: readonly string[],
): Promise<Map<string, CustomerPeriod>> {
  const params = new Params();
  const only = `customer_id = ANY(${params.add(customerIds, 'text[]')})`;
  const rows = await db.query<PeriodRow>(
    `${spentSql(plan, params)} SELECT ${columnsOf(plan)} FROM spent WHERE ${only}`,
    params.values,
  );
  return new Map(rows.map((row) => [row.customer_id, viewPeriod(row, plan)]));
}

/** Returns a page of the customers with usage in the period, sorted by that usage. */
export async function pageByPeriod(
  db: Queryable,
  plan: PeriodPlan,
  { sort = '', cursor, limit = pageSize.fallback, customer_id: only }: CustomerFilters,
): Promise<{ readonly periods: Map<string, CustomerPeriod>; readonly next_cursor: string | null }> {
  const params = new Params();
  const descending = sort.startsWith('-');
  const field = sort.replace('-', '') as PeriodSort;
  const column = orders[field];
  const conditions = ['true'];
  if (only !== undefined) {
    conditions.push(`customer_id = ${params.add(only, 'text')}`);
  }
  if (cursor !== undefined) {
    const type = customerSorts[field];
    const { value, id } = decodeCursor(cursor, sort, type);
    conditions.push(
      `(spent.${column}, spent.customer_id) ${descending ? '<' : '>'} (${params.add(value, type)}, ${params.add(id, 'text')})`,
    );
  }
  const direction = descending ? 'DESC' : 'ASC';
  const rows = await db.query<PeriodRow>(
    `${spentSql(plan, params)} SELECT ${columnsOf(plan)} FROM spent WHERE ${conditions.join(' AND ')}
      ORDER BY spent.${column} ${direction}, spent.customer_id ${direction} LIMIT ${params.add(limit + 1, 'int8')}`,
    params.values,
  );
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    periods: new Map(page.map((row) => [row.customer_id, viewPeriod(row, plan)])),
    next_cursor: last === undefined ? null : encodeCursor(sort, last[column], last.customer_id),
  };
}

/** Returns SQL. `days` has a row per customer and day, `spent` one per customer. */
function spentSql({ orgId, now, range, days }: PeriodPlan, params: Params): string {
  const rows = selectRows(
    { orgId, now, range, filters: {}, groupBy: [{ kind: 'field', name: 'customer_id' }, days] },
    params,
  );
  return `WITH days AS (
            SELECT v0 AS customer_id, v1 AS day, sum(runs)::int8 AS runs, sum(usd_nanos) AS usd_nanos
              FROM (${rows}) AS rows WHERE v0 <> '' GROUP BY v0, v1
          ), spent AS (
            SELECT customer_id, sum(usd_nanos) AS usd_nanos, sum(runs)::int8 AS runs,
                   coalesce(max(day) FILTER (WHERE runs > 0), 0)::int8 AS last_day
              FROM days GROUP BY customer_id HAVING sum(runs) <> 0 OR sum(usd_nanos) <> 0
          )`;
}

function columnsOf({ withTrend }: PeriodPlan): string {
  const costs = withTrend
    ? `(SELECT json_agg(json_build_array(day, days.usd_nanos::text)) FROM days WHERE days.customer_id = spent.customer_id)`
    : 'NULL::json';
  return `customer_id, usd_nanos, runs, last_day, ${costs} AS costs`;
}

function viewPeriod(row: PeriodRow, plan: PeriodPlan): CustomerPeriod {
  const lastMs = plan.days.startsMs[Number(row.last_day) - 1];
  return {
    cost_usd: formatUsd(BigInt(row.usd_nanos)),
    runs: Number(row.runs),
    last_active_on: lastMs === undefined ? null : spanLabel('day', plan.timezone, lastMs),
    ...(plan.withTrend && { trend: trendOf(plan, row.costs ?? []) }),
  };
}

/** Returns the period of a customer without usage. */
export function emptyPeriod(plan: PeriodPlan): CustomerPeriod {
  return {
    cost_usd: '0',
    runs: 0,
    last_active_on: null,
    ...(plan.withTrend && { trend: trendOf(plan, []) }),
  };
}

function trendOf({ days }: PeriodPlan, costs: NonNullable<PeriodRow['costs']>): string[] {
  const byDay = new Map(costs);
  return days.startsMs.map((_, index) => formatUsd(BigInt(byDay.get(index + 1) ?? '0')));
}
