/**
 * The prepaid balance of an org. The sum of its top-ups is the capacity of a limit that never resets. The limit keeps its id
 * permanently, even while it is disabled, because spend is counted under that id.
 */
import { invalidField } from '../../../contract/api-error.ts';
import { formatUsd, maxNanos } from '../../../kernel/money.ts';
import { lockOrgLimits } from '../../../ledger/limits/limit-changes.ts';
import { defaultThresholds, positiveNanosOf } from '../../../ledger/limits/limit-fields.ts';
import {
  endLimit,
  insertLimit,
  type LimitRow,
  lockLimitEvenEnded,
  newLimit,
  reviveLimit,
  updateLimit,
} from '../../../ledger/limits/limits.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { findAccount, insertTopUp, type TopUpRow, upsertAccount } from './queries.ts';
import type { CreateTopUp, PrepaidView, TopUpView } from './schema.ts';

export async function readPrepaid(db: Queryable, orgId: string): Promise<PrepaidView> {
  const { limit_id, enabled, topped_up_nanos } = await findAccount(db, orgId);
  return { id: limit_id, enabled, topped_up_usd: formatUsd(topped_up_nanos) };
}

export function viewTopUp({ id, amount_nanos, reference, created_at }: TopUpRow): TopUpView {
  return { id, amount_usd: formatUsd(amount_nanos), reference, created_at: created_at.toISOString() };
}

export interface PrepaidChange {
  readonly before: PrepaidView;
  readonly after: PrepaidView;
}

export async function putPrepaid(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  enabled: boolean,
): Promise<PrepaidChange> {
  await lockOrgLimits(tx, orgId);
  const before = await readPrepaid(tx, orgId);
  await upsertAccount(tx, orgId, enabled);
  if (enabled) {
    await reviveLimit(tx, await balanceLimit(tx, ids, now, orgId));
  } else if (before.enabled) {
    await endLimit(tx, await balanceLimit(tx, ids, now, orgId), now);
  }
  return { before, after: await readPrepaid(tx, orgId) };
}

export async function topUp(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { amount_usd, reference = null }: CreateTopUp,
): Promise<TopUpRow> {
  const amount = positiveNanosOf('amount_usd', amount_usd);
  await lockOrgLimits(tx, orgId);
  const { topped_up_nanos } = await findAccount(tx, orgId);
  if (topped_up_nanos + amount > maxNanos) {
    throw invalidField(
      'amount_usd',
      'out_of_range',
      'The sum of all top-ups must stay below 9 billion US dollars.',
    );
  }
  const row = { org_id: orgId, id: ids.next('top'), amount_nanos: amount, reference, created_at: now };
  await insertTopUp(tx, row);
  const limit = await lockLimitEvenEnded(tx, orgId, 'prepaid');
  if (limit !== undefined) {
    await updateLimit(tx, { ...limit, capacity: topped_up_nanos + amount, updated_at: now });
  }
  return row;
}

/** Returns the limit of the balance; creates it if there is none. */
async function balanceLimit(tx: Transaction, ids: Ids, now: Date, orgId: string): Promise<LimitRow> {
  const known = await lockLimitEvenEnded(tx, orgId, 'prepaid');
  if (known !== undefined) {
    return known;
  }
  const { topped_up_nanos } = await findAccount(tx, orgId);
  const limit = newLimit(
    {
      org_id: orgId,
      id: ids.next('ppd'),
      kind: 'prepaid',
      unit: 'usd',
      capacity: topped_up_nanos,
      alert_thresholds: defaultThresholds,
    },
    now,
  );
  await insertLimit(tx, limit);
  return limit;
}
