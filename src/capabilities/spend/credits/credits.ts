/** Credit packs of end customers. While a customer has a live pack, its runs use credits. */
import { apiError, invalidField } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { changeLimit, type LimitChange, type LimitName } from '../../../ledger/limits/limit-changes.ts';
import { defaultThresholds, positiveNanosOf, viewTimes } from '../../../ledger/limits/limit-fields.ts';
import { insertLimit, type LimitRow, listLimits, newLimit } from '../../../ledger/limits/limits.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Condition, PageOf } from '../../../platform/http/routes/list.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type CreateCreditPack,
  type CreditPackFilters,
  type CreditPackView,
  creditPackSorts,
  type PatchCreditPack,
} from './schema.ts';

export function viewCreditPack(row: LimitRow, now: Date): CreditPackView {
  return {
    id: row.id,
    customer_id: row.match.customer_id ?? '',
    name: row.name,
    amount_usd: formatUsd(row.capacity),
    expires_at: row.expires_at?.toISOString() ?? null,
    status: isExpired(row, now) ? 'expired' : 'live',
    ...viewTimes(row),
  };
}

function isExpired({ expires_at }: LimitRow, now: Date): boolean {
  return expires_at !== null && expires_at <= now;
}

export async function createCreditPack(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { customer_id, amount_usd, expires_at = null, name = null }: CreateCreditPack,
): Promise<LimitRow> {
  const row = newLimit(
    {
      org_id: orgId,
      id: ids.next('crp'),
      kind: 'credits',
      name,
      unit: 'usd',
      match: { customer_id },
      capacity: positiveNanosOf('amount_usd', amount_usd),
      expires_at: futureInstant(expires_at, now),
      alert_thresholds: defaultThresholds,
    },
    now,
  );
  await insertLimit(tx, row);
  return row;
}

/** Changes a credit pack. An expired pack keeps its expiry, because its remaining credits have lapsed. */
export async function changeCreditPack(
  tx: Transaction,
  pack: LimitName,
  now: Date,
  { name, expires_at }: PatchCreditPack,
): Promise<LimitChange> {
  const columns: Partial<LimitRow> = {
    ...(name !== undefined && { name }),
    ...(expires_at !== undefined && { expires_at: futureInstant(expires_at, now) }),
  };
  return changeLimit(tx, pack, now, (row) => {
    if (expires_at !== undefined && isExpired(row, now)) {
      throw apiError(
        'conflict',
        'The pack has expired and its remaining credits have lapsed. Create a new pack.',
      );
    }
    return columns;
  });
}

function futureInstant(text: string | null, now: Date): Date | null {
  const instant = text === null ? null : new Date(text);
  if (instant !== null && instant <= now) {
    throw invalidField('expires_at', 'out_of_range', 'Must be in the future.');
  }
  return instant;
}

export async function listCreditPacks(
  db: Queryable,
  orgId: string,
  query: CreditPackFilters,
  now: Date,
): Promise<PageOf<LimitRow>> {
  return listLimits(db, {
    orgId,
    kind: 'credits',
    where: [[`match ->> 'customer_id' = ?`, query.customer_id], ...statusConditions(query.status, now)],
    sorts: creditPackSorts,
    defaultSort: '-created_at',
    query,
  });
}

function statusConditions(status: CreditPackFilters['status'], now: Date): Condition[] {
  switch (status) {
    case undefined:
      return [];
    case 'live':
      return [['coalesce(expires_at > ?, true)', now]];
    case 'expired':
      return [['expires_at <= ?', now]];
  }
}
