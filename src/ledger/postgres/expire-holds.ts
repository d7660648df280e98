/** Expires holds of an org on PostgreSQL, under its lease. */
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import { eachIfAllFail } from '../postings/each-if-all-fail.ts';
import { leaseExpiry } from './hold-expiry.ts';
import type { DueHold } from './ledger-command.ts';
import { LedgerTransaction, type PostgresLedgerOptions } from './ledger-transaction.ts';
import { lockOrg } from './lock-orgs.ts';

/** Returns false if another process has the lease. In transactions of their own: decisions that share one would wait for the expiry. */
export async function expireHolds<Run>(
  options: PostgresLedgerOptions<Run>,
  orgLimits: OrgLimitsCache,
  processId: string,
  orgId: string,
  holds: readonly DueHold[],
): Promise<boolean> {
  let isLeased = false;
  await eachIfAllFail(holds, async (some) => {
    isLeased = await options.db.transaction(async (tx) => {
      const isOurs = await leaseExpiry(tx, orgId, processId);
      if (isOurs) {
        await new LedgerTransaction(options, orgLimits, tx).run(
          async () => [await lockOrg(tx, orgId)],
          [{ orgId, commands: [{ kind: 'expire', holds: some }] }],
        );
      }
      return isOurs;
    });
  });
  return isLeased;
}
