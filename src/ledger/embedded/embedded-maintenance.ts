/** Erasure, eviction and monitored figures of the embedded ledger. */
import type { TagField } from '../../kernel/limits.ts';
import {
  droppedCounters,
  isCounterOfCustomer,
  type Renaming,
  renamedHold,
} from '../holds/customer-pseudonyms.ts';
import { growthByCounter } from '../holds/growth-by-counter.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { LedgerMaintenance } from '../ledger.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import type { EmbeddedState } from './embedded-state.ts';
import type { LedgerStates } from './ledger-states.ts';

export function createEmbeddedMaintenance(
  { db, states, durable, time }: EmbeddedState,
  postings: { readonly waiting: number },
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

    async recountGrowth(orgId) {
      const { counters, holds } = await states.open(orgId);
      const growth = growthByCounter([...holds.values()].map(({ hold }) => hold));
      for (const [key, counter] of counters) {
        counter.growth = growth.get(key) ?? 0n;
      }
    },

    /** Evicts counters that can be read from the database again. */
    async evictCounters() {
      for (const orgState of states.all()) {
        orgState.evictCounters(time.now());
      }
      return false;
    },

    stats() {
      const overdue = states.expiries.overdue(time.clockMs());
      return {
        openHolds: states.openHolds.used,
        overdueHolds: overdue.holds,
        oldestOverdueMs: overdue.oldestMs,
        waiting: postings.waiting,
      };
    },

    clockAheadMs: async () => time.now() - time.clockMs(),
  };
}

/** Renames a customer in the open holds and returns these. Synchronous, so that no decision uses the old name in between. */
function renameInMemory(
  states: LedgerStates,
  orgState: OrgLedgerState,
  renaming: Renaming,
  tagFields: readonly TagField[],
): OpenHold[] {
  const renamed: OpenHold[] = [];
  const dropped = new Set<string>();
  for (const open of orgState.holds.values()) {
    const hold = renamedHold(open.hold, renaming, tagFields);
    if (hold !== undefined) {
      for (const key of droppedCounters(open.hold, hold)) {
        dropped.add(key);
      }
      states.replaceHold(open, hold);
      renamed.push(open);
    }
  }
  for (const key of orgState.counters.keys()) {
    if (dropped.has(key) || isCounterOfCustomer(key, renaming)) {
      orgState.counters.delete(key);
    }
  }
  return renamed;
}
