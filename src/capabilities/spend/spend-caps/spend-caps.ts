/** The daily spend cap, of which an org has at most one. */
import { found } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import {
  endOnlyLimit,
  findOnlyLimit,
  lockOrgLimits,
  putOnlyLimit,
} from '../../../ledger/limits/limit-changes.ts';
import {
  defaultThresholds,
  nanosOf,
  spendingColumns,
  viewTimes,
} from '../../../ledger/limits/limit-fields.ts';
import type { LimitRow } from '../../../ledger/limits/limits.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { PutSpendCap, SpendCapView } from './schema.ts';

const noSpendCap = 'The organization has no spend cap.';

export function viewSpendCap(row: LimitRow): SpendCapView {
  return {
    id: row.id,
    cap_usd: formatUsd(row.capacity),
    timezone: row.timezone,
    alert_thresholds: [...row.alert_thresholds],
    owner: row.owner,
    ...viewTimes(row),
  };
}

export async function requireSpendCap(db: Queryable, orgId: string): Promise<LimitRow> {
  return found(await findOnlyLimit(db, orgId, 'spend_cap'), noSpendCap);
}

/** Replaces the cap. Fields that are left out are reset to their defaults. */
export async function putSpendCap(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { cap_usd, timezone = null, alert_thresholds = [...defaultThresholds], owner = null }: PutSpendCap,
) {
  const columns = spendingColumns({ timezone, alert_thresholds, owner });
  await lockOrgLimits(tx, orgId);
  return putOnlyLimit(tx, ids, now, orgId, {
    kind: 'spend_cap',
    prefix: 'cap',
    wanted: { unit: 'usd', period: 'day', capacity: nanosOf(cap_usd), ...columns },
  });
}

/** Returns the removed cap. */
export async function removeSpendCap(tx: Transaction, now: Date, orgId: string): Promise<LimitRow> {
  await lockOrgLimits(tx, orgId);
  return found(await endOnlyLimit(tx, now, orgId, 'spend_cap'), noSpendCap);
}
