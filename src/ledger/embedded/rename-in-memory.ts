/** Replaces the id of an erased customer in the open holds and counters of an org. */
import type { TagField } from '../../kernel/limits.ts';
import {
  droppedCounters,
  isCounterOfCustomer,
  type Renaming,
  renamedHold,
} from '../holds/customer-pseudonyms.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { LedgerStates } from './ledger-states.ts';

/** Returns the holds that were renamed. Synchronous, so that no decision uses the old name in between. */
export function renameInMemory(
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
