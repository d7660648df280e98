/**
 * Extends and increases holds on the embedded engine. A change takes effect in memory at once, so that concurrent decisions see it,
 * and is durable in the hold log before the response is sent. If the log cannot be written, the change is undone. A crash before
 * the line is complete loses an increase that was not acknowledged. A crash after it keeps the increase: a retry finds its id in
 * the hold, and without a retry the amount is released with the hold.
 */
import type { Hold } from '../holds/hold.ts';
import type { HoldChange, HoldIncrease, IncreaseResult } from '../holds/hold-request.ts';
import { countersForIncrease, holdWithoutIncrease, increaseHold, isApplied } from '../holds/increase-hold.ts';
import { extendedTo } from '../holds/take-hold.ts';
import { endedOrUnknown } from '../postings/ledger-writes.ts';
import { addCounters } from '../postings/posting-batch.ts';
import type { EmbeddedState } from './embedded-state.ts';
import { requireDatabase } from './require-database.ts';

export async function extendOpenHold(
  { db, states, durable, unresolvedEnds, time }: EmbeddedState,
  orgId: string,
  holdId: string,
  seconds: number,
): Promise<HoldChange> {
  const orgState = await states.open(orgId);
  const open = orgState.holds.get(holdId);
  if (open === undefined) {
    return endedOrUnknown(db, orgId, holdId);
  }
  unresolvedEnds.throwIfUnresolved([holdId]);
  if (open.ending) {
    return { kind: 'ended' };
  }
  const { expiresAtMs } = open.hold;
  const hold: Hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, time.clockMs(), seconds) };
  states.replaceHold(open, hold);
  try {
    await durable.add([open]);
  } catch (error) {
    states.replaceHold(open, { ...open.hold, expiresAtMs });
    throw error;
  }
  return { kind: 'changed', hold };
}

export async function increaseOpenHold(
  { db, states, durable, unresolvedEnds, time }: EmbeddedState,
  orgId: string,
  holdId: string,
  request: HoldIncrease,
): Promise<IncreaseResult> {
  for (;;) {
    requireDatabase(db);
    const orgState = await states.open(orgId);
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(db, orgId, holdId);
    }
    unresolvedEnds.throwIfUnresolved([holdId]);
    if (open.ending) {
      return { kind: 'ended' };
    }
    const missing = orgState.missingCounters(
      countersForIncrease(orgState, open.hold).map(({ limitWindow }) => limitWindow),
      open.hold.scope,
    );
    if (missing.length > 0) {
      await addCounters(db, orgState, missing);
      continue;
    }
    const increased = increaseHold(orgState, open.hold, request, time.now());
    switch (increased.kind) {
      case 'increased':
        open.hold = increased.hold;
        try {
          await durable.add([open]);
        } catch (error) {
          // If the hold has ended, its whole reservation is released already.
          if (states.isOpen(open)) {
            open.hold = holdWithoutIncrease(orgState, open.hold, increased.increase, request.requestId);
          }
          throw error;
        }
        return { kind: 'changed', hold: increased.hold };
      case 'repeated':
        // The first attempt may not be durable yet, and may still fail.
        await durable.add([open]);
        if (!isApplied(open.hold, request.requestId)) {
          continue;
        }
        return { kind: 'changed', hold: open.hold };
      default:
        return increased;
    }
  }
}
