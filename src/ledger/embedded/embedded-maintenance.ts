/** Erasure, eviction and monitored figures of the embedded ledger. */
import type { LedgerMaintenance } from '../ledger.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import type { EmbeddedState } from './embedded-state.ts';
import { renameInMemory } from './rename-in-memory.ts';

/** `waitingPostings` returns the number of postings that are queued. */
export function createEmbeddedMaintenance(
  { db, states, durable, now, clockMs }: EmbeddedState,
  waitingPostings: () => number,
): LedgerMaintenance {
  return {
    async renameCustomer(orgId, renaming, change) {
      const orgState = await states.open(orgId);
      const { tagFields } = await db.transaction(async (tx) => {
        await change(tx);
        return (await readOrgLimits(tx, orgId)).index;
      });
      const renamed = renameInMemory(states, orgState, renaming, tagFields);
      if (renamed.length > 0) {
        await durable.add(renamed);
      }
    },

    /** Evicts counters that can be read from the database again. */
    async evictCounters() {
      for (const orgState of states.all()) {
        orgState.evictCounters(now());
      }
      return false;
    },

    stats() {
      const overdue = states.expiries.overdue(clockMs());
      return {
        openHolds: states.openHolds.used,
        overdueHolds: overdue.holds,
        oldestOverdueMs: overdue.oldestMs,
        waiting: waitingPostings(),
      };
    },

    clockAheadMs: async () => now() - clockMs(),
  };
}
