/** Erasure, eviction and monitored figures of the ledger on PostgreSQL. */
import { agreedNow } from '../../platform/db/agreed-now.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { deleteBatch } from '../../platform/db/delete-batch.ts';
import type { SharedClock } from '../../platform/time/clock.ts';
import { droppedCounters, namePattern, type Renaming, renamedHold } from '../holds/customer-pseudonyms.ts';
import { growthByCounter } from '../holds/growth-by-counter.ts';
import type { LedgerMaintenance } from '../ledger.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import { readLastTime } from '../postings/latest-times.ts';
import { lockOrg } from './lock-orgs.ts';
import { selectAllHolds, selectHoldsOfCustomer, updateHolds } from './postgres-holds.ts';

const countersPerEviction = 5_000;
/**
 * Time after which an unused counter is deleted. It starts at the end of the window or at the last change, whichever is later;
 * without a window, at the last change. A deleted counter must be summed from the ledger when it is needed again.
 */
const unusedCounterMs = 3_600_000;

export function createPostgresMaintenance(
  { db, clock }: { readonly db: Database; readonly clock: SharedClock },
  queues: { readonly waiting: number },
): LedgerMaintenance {
  return {
    async renameCustomer(orgId, renaming, change) {
      await db.transaction(async (tx) => {
        await lockOrg(tx, orgId);
        await change(tx);
        const { tagFields } = (await readOrgLimits(tx, orgId)).index;
        const dropped: string[] = [];
        const renamed = (await selectHoldsOfCustomer(tx, orgId, renaming.from)).flatMap((before) => {
          const hold = renamedHold(before, renaming, tagFields);
          dropped.push(...(hold === undefined ? [] : droppedCounters(before, hold)));
          return hold ?? [];
        });
        await updateHolds(tx, renamed);
        await deleteCustomerCounters(tx, orgId, renaming, dropped);
      });
    },

    async recountGrowth(orgId) {
      await db.transaction(async (tx) => {
        await lockOrg(tx, orgId);
        const growth = growthByCounter(await selectAllHolds(tx, orgId));
        await tx.query(
          `UPDATE counters c SET growth = coalesce(w.growth, 0)
             FROM (SELECT org_id, key FROM counters WHERE org_id = $1) AS own
             LEFT JOIN unnest($2::text[], $3::int8[]) AS w(key, growth) ON w.key = own.key
            WHERE c.org_id = $1 AND c.org_id = own.org_id AND c.key = own.key AND c.growth <> coalesce(w.growth, 0)`,
          [orgId, [...growth.keys()], [...growth.values()]],
        );
      });
    },

    async evictCounters() {
      const unusedSince = new Date((await agreedNow(db, clock)).getTime() - unusedCounterMs);
      return deleteBatch(db, {
        table: 'counters',
        key: 'org_id, key',
        where: 'held = 0 AND window_end < $1',
        params: [unusedSince],
        limit: countersPerEviction,
      });
    },

    stats: () => ({ openHolds: 0, overdueHolds: 0, oldestOverdueMs: 0, waiting: queues.waiting }),

    async clockAheadMs() {
      const lastMs = await readLastTime(db);
      return Math.max(0, lastMs - (await agreedNow(db, clock)).getTime());
    },
  };
}

/** Deletes the given counters and those that are keyed by the id of a customer. The next decision creates them again from the ledger. */
async function deleteCustomerCounters(
  tx: Transaction,
  orgId: string,
  { from, to }: Renaming,
  keys: readonly string[],
): Promise<void> {
  // A counter with several values has them as a JSON list. A pseudonym is searched anywhere in the key, because it is random.
  const value = `substr(key, strpos(key, ':') + 1)`;
  await tx.query(
    `DELETE FROM counters
      WHERE org_id = $1
        AND (key = ANY($5) OR strpos(key, ':') > 0
             AND (${value} = $2 OR ${value} ~ $3 OR left(${value}, 1) = '[' AND strpos(${value}, $4) > 0
                  OR strpos(${value}, $6) > 0))`,
    [orgId, from, namePattern(from), JSON.stringify(from), keys, to],
  );
}
