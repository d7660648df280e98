/** Limits on the cost of the runs of an end customer in a calendar window. */
import { apiError } from '../../../contract/api-error.ts';
import { changeLimit, type LimitChange, type LimitName } from '../../../ledger/limits/limit-changes.ts';
import {
  defaultThresholds,
  nanosOf,
  spendingColumns,
  viewSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { insertLimit, type LimitRow, listLimits, newLimit } from '../../../ledger/limits/limits.ts';
import { isUniqueViolation, type Queryable, type Transaction } from '../../../platform/db/database.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type CreateCustomerLimit,
  type CustomerLimitFilters,
  type CustomerLimitView,
  customerLimitSorts,
} from './schema.ts';

export function viewCustomerLimit(row: LimitRow): CustomerLimitView {
  return { id: row.id, customer_id: row.match.customer_id ?? '', ...viewSpending(row) };
}

export async function createCustomerLimit(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { customer_id, ...spending }: CreateCustomerLimit,
): Promise<LimitRow> {
  const row = newLimit(
    {
      org_id: orgId,
      id: ids.next('clm'),
      kind: 'customer',
      unit: 'usd',
      match: { customer_id },
      alert_thresholds: defaultThresholds,
      capacity: nanosOf(spending.limit_usd),
      ...spendingColumns(spending),
    },
    now,
  );
  await rejectTakenPeriod(insertLimit(tx, row));
  return row;
}

export async function changeCustomerLimit(
  tx: Transaction,
  name: LimitName,
  now: Date,
  given: Parameters<typeof spendingColumns>[0],
): Promise<LimitChange> {
  const columns = spendingColumns(given);
  return rejectTakenPeriod(changeLimit(tx, name, now, () => columns));
}

async function rejectTakenPeriod<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change;
  } catch (error) {
    throw isUniqueViolation(error, 'limits_customer_period')
      ? apiError('conflict', 'The customer already has a limit for this period.')
      : error;
  }
}

export async function listCustomerLimits(
  db: Queryable,
  orgId: string,
  query: CustomerLimitFilters,
): Promise<PageOf<LimitRow>> {
  return listLimits(db, {
    orgId,
    kind: 'customer',
    where: [
      [`match ->> 'customer_id' = ?`, query.customer_id],
      ['period = ?', query.period],
    ],
    sorts: customerLimitSorts,
    defaultSort: '-created_at',
    query,
  });
}
