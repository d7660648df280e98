/** Usage of the customers' own limits, and their remaining credits. */
import { formatUsd } from '../../../kernel/money.ts';
import type { Period } from '../../../kernel/windows.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { CustomerView } from './schema.ts';

export interface CustomerLimitUsageDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
}

type CustomerLimitUsage = Pick<CustomerView, 'limits' | 'credits_usd'>;

interface OwnLimit {
  readonly id: string;
  readonly kind: 'customer' | 'credits';
  readonly customer_id: string;
  readonly period: Period | null;
  readonly capacity: string;
}

/** Returns the usage by customer. Customers without limits and credits have no entry. */
export async function customerLimitUsage(
  { db, ledger }: CustomerLimitUsageDependencies,
  orgId: string,
  customerIds: readonly string[],
  now: Date,
): Promise<Map<string, CustomerLimitUsage>> {
  const own = await selectOwnLimits(db, orgId, customerIds, now);
  const usages = await ledger.limitUsage(
    orgId,
    own.map(({ id }) => id),
  );
  const used = new Map(usages.map(({ limit, settled, held }) => [limit.id, settled + held]));
  // With active raises.
  const capacities = new Map(usages.map(({ limit }) => [limit.id, limit.capacity]));
  const usedOf = ({ id }: OwnLimit) => used.get(id) ?? 0n;
  return new Map(
    [...new Set(own.map(({ customer_id }) => customer_id))].map((customerId) => {
      const customerRows = own.filter(({ customer_id }) => customer_id === customerId);
      const packs = customerRows.filter(({ kind }) => kind === 'credits');
      const remaining = packs.reduce((sum, pack) => {
        const rest = BigInt(pack.capacity) - usedOf(pack);
        return sum + (rest > 0n ? rest : 0n);
      }, 0n);
      const limits = customerRows.flatMap((limit) =>
        limit.period === null
          ? []
          : {
              id: limit.id,
              period: limit.period,
              limit_usd: formatUsd(capacities.get(limit.id) ?? BigInt(limit.capacity)),
              spent_usd: formatUsd(usedOf(limit)),
            },
      );
      return [customerId, { limits, credits_usd: packs.length === 0 ? null : formatUsd(remaining) }];
    }),
  );
}

/** Returns the customers' own limits, without expired credit packs. */
function selectOwnLimits(
  db: Database,
  orgId: string,
  customerIds: readonly string[],
  now: Date,
): Promise<OwnLimit[]> {
  return db.query<OwnLimit>(
    `SELECT id, kind, match ->> 'customer_id' AS customer_id, period, capacity::text AS capacity
       FROM limits
      WHERE org_id = $1 AND ended_at IS NULL AND kind IN ('customer', 'credits')
        AND match ->> 'customer_id' = ANY($2) AND (expires_at IS NULL OR expires_at > $3)
      ORDER BY created_at, id`,
    [orgId, customerIds, now],
  );
}
