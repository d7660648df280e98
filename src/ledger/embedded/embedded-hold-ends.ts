/** Ends holds without a posting on the embedded engine: voided ones, and expired ones whose amount is released. */
import { DatabaseUnavailable } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldChange } from '../holds/hold-request.ts';
import type { OpenHold } from '../holds/org-ledger-state.ts';
import { endedOrUnknown, findEnds, type HoldEnd, insertEnds } from '../postings/ledger-writes.ts';
import type { EmbeddedState } from './embedded-state.ts';
import type { LedgerStates } from './ledger-states.ts';

export async function voidHold(state: EmbeddedState, orgId: string, holdId: string): Promise<HoldChange> {
  const { db, states, unresolvedEnds } = state;
  const orgState = await states.open(orgId);
  const open = orgState.holds.get(holdId);
  if (open === undefined) {
    return endedOrUnknown(db, orgId, holdId);
  }
  unresolvedEnds.throwIfUnresolved([holdId]);
  const [hold] = await endHolds(state, [open], 'voided', () => true);
  unresolvedEnds.throwIfUnresolved([holdId]);
  return hold === undefined ? { kind: 'ended' } : { kind: 'changed', hold };
}

/**
 * Ends the holds that are still open and, for expiry, overdue; returns them. Runs inside a database transaction, during which no
 * settlement is in progress: an earlier settlement has ended its hold, and a later one finds the end and counts as late. The order
 * is: the end is written to the database, then memory changes, then the hold is removed from the log.
 */
export async function endHolds(
  state: EmbeddedState,
  holds: readonly OpenHold[],
  endedAs: 'voided' | 'expired',
  isDue: (open: OpenHold) => boolean,
): Promise<Hold[]> {
  let ending: OpenHold[] = [];
  try {
    await state.db.transaction(async (tx) => {
      setEnding(ending, false);
      ending = holds.filter((open) => canEnd(state.states, open) && isDue(open));
      setEnding(ending, true);
      await insertEnds(
        tx,
        ending.map(({ hold }): HoldEnd => ({ hold, endedAs, runId: null })),
        state.time.now(),
      );
    });
  } catch (error) {
    if (error instanceof DatabaseUnavailable) {
      void resolveLater(state, ending);
    } else {
      setEnding(ending, false);
    }
    throw error;
  }
  return release(state, ending);
}

export function canEnd(states: LedgerStates, open: OpenHold): boolean {
  return states.isOpen(open) && !open.ending;
}

function release({ states, durable }: EmbeddedState, ended: readonly OpenHold[]): Hold[] {
  const holds = ended.map(({ hold }) => hold);
  for (const open of ended) {
    states.release(open);
  }
  durable.remove(ended);
  return holds;
}

/** The response to COMMIT may be lost. The holds stay unchanged until the database shows whether they ended. */
async function resolveLater(state: EmbeddedState, ending: readonly OpenHold[]): Promise<void> {
  const ids = ending.map(({ hold }) => hold.id);
  await state.unresolvedEnds.resolve(ids, async () => {
    const orgIds = ending.map(({ hold }) => hold.orgId);
    const ends = await findEnds(state.db, orgIds, ids);
    const ended = new Set(ends.map(({ hold_id }) => hold_id));
    release(
      state,
      ending.filter(({ hold }) => ended.has(hold.id)),
    );
    setEnding(
      ending.filter(({ hold }) => !ended.has(hold.id)),
      false,
    );
  });
}

function setEnding(holds: readonly OpenHold[], ending: boolean): void {
  for (const open of holds) {
    open.ending = ending;
  }
}
