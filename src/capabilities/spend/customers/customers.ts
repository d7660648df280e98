/** The end customers of an org: every customer that has usage, a limit or credits. */
import { WILDCARD } from '../../../kernel/limits.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { decodeCursor, encodeCursor, type PageOf, pageSize } from '../../../platform/http/routes/list.ts';
import { type CustomerLimitUsageDependencies, customerLimitUsage } from './customer-limit-usage.ts';
import {
  emptyPeriod,
  isByPeriod,
  type PeriodPlan,
  pageByPeriod,
  periodsOf,
  planPeriod,
} from './customer-periods.ts';
import type { CustomerFilters, CustomerPeriod, CustomerView } from './schema.ts';

export async function listCustomers(
  { db, ledger }: CustomerLimitUsageDependencies,
  orgId: string,
  query: CustomerFilters,
  { now, withCredits }: { readonly now: Date; readonly withCredits: boolean },
): Promise<PageOf<CustomerView>> {
  const plan = await planPeriod(db, orgId, query, now);
  const { ids, periods, next_cursor } = await findPage(db, orgId, query, plan);
  const [totals, limitUsage] = await Promise.all([
    selectTotals(db, orgId, ids),
    customerLimitUsage({ db, ledger }, orgId, ids, now),
  ]);
  return {
    data: ids.map((id) => {
      const { limits = [], credits_usd = null } = limitUsage.get(id) ?? {};
      return {
        customer_id: id,
        ...(totals.get(id) ?? { cost_usd: '0', runs: 0 }),
        limits,
        credits_usd: withCredits ? credits_usd : null,
        ...(plan && { period: periods.get(id) ?? emptyPeriod(plan) }),
      };
    }),
    next_cursor,
  };
}

interface CustomerPage {
  readonly ids: readonly string[];
  readonly periods: ReadonlyMap<string, CustomerPeriod>;
  readonly next_cursor: string | null;
}

async function findPage(
  db: Queryable,
  orgId: string,
  query: CustomerFilters,
  plan: PeriodPlan | undefined,
): Promise<CustomerPage> {
  const { limit = pageSize.fallback, sort = 'customer_id', cursor, customer_id: only } = query;
  if (plan !== undefined && isByPeriod(sort)) {
    const { periods, next_cursor } = await pageByPeriod(db, plan, query);
    return { ids: [...periods.keys()], periods, next_cursor };
  }
  const after = cursor === undefined ? null : decodeCursor(cursor, sort, 'text').id;
  const found = await selectCustomerIds(db, {
    orgId,
    descending: sort.startsWith('-'),
    after,
    only: only ?? null,
    most: limit + 1,
  });
  const ids = found.slice(0, limit);
  const last = ids.at(-1);
  return {
    ids,
    periods: plan === undefined ? new Map() : await periodsOf(db, plan, ids),
    next_cursor: found.length > limit && last !== undefined ? encodeCursor(sort, last, last) : null,
  };
}

interface CustomerIdQuery {
  readonly orgId: string;
  readonly descending: boolean;
  readonly after: string | null;
  readonly only: string | null;
  readonly most: number;
}

/**
 * Returns a page of customer ids. Limits each source of the union separately, so that a page only reads the usage of its own
 * customers. A LIMIT on the whole union, as the generic list query creates it, would read the usage of all customers.
 */
async function selectCustomerIds(
  db: Queryable,
  { orgId, descending, after, only, most }: CustomerIdQuery,
): Promise<string[]> {
  const beyond = (column: string) =>
    `($2::text IS NULL OR ${column} ${descending ? '<' : '>'} $2) AND ($4::text IS NULL OR ${column} = $4)`;
  const inOrder = `ORDER BY customer_id ${descending ? 'DESC' : 'ASC'} LIMIT $3`;
  const limited = `match ->> 'customer_id'`;
  const rows = await db.query<{ customer_id: string }>(
    `SELECT customer_id
       FROM ((SELECT DISTINCT customer_id FROM usage_days
               WHERE org_id = $1 AND customer_id <> '' AND ${beyond('customer_id')} ${inOrder})
             UNION
             (SELECT DISTINCT ${limited} AS customer_id FROM limits
               WHERE org_id = $1 AND ended_at IS NULL AND kind IN ('customer', 'credits') AND ${limited} <> '${WILDCARD}'
                 AND ${beyond(limited)} ${inOrder})) AS seen
      ${inOrder}`,
    [orgId, after, most, only],
  );
  return rows.map(({ customer_id }) => customer_id);
}

interface TotalRow {
  readonly customer_id: string;
  readonly usd_nanos: string;
  readonly runs: string;
}

async function selectTotals(
  db: Queryable,
  orgId: string,
  customerIds: readonly string[],
): Promise<Map<string, Pick<CustomerView, 'cost_usd' | 'runs'>>> {
  const rows = await db.query<TotalRow>(
    `SELECT customer_id, sum(usd_nanos)::text AS usd_nanos, sum(requests)::text AS runs
       FROM usage_days
      WHERE org_id = $1 AND customer_id = ANY($2) AND customer_id <> ''
      GROUP BY customer_id`,
    [orgId, customerIds],
  );
  return new Map(
    rows.map(({ customer_id, usd_nanos, runs }) => [
      customer_id,
      { cost_usd: formatUsd(BigInt(usd_nanos)), runs: Number(runs) },
    ]),
  );
}
