/**
 * Increasing holds on the embedded engine. An increase is reserved in memory at once, so that concurrent decisions see it,
 * and is durable in the hold log before the response is sent. If the log cannot be written, it is released again.
 *
 * A crash before the line is complete loses an increase that was not acknowledged. A crash after it keeps the increase; its
 * retry finds its id in the hold, and without a retry the amount is released with the hold.
 */
import type { Database } from '../../platform/db/database.ts';
import type { HoldIncrease, IncreaseResult } from '../holds/hold-request.ts';
import { countersForIncrease, holdWithoutIncrease, increaseHold, isApplied } from '../holds/increase-hold.ts';
import { endedOrUnknown } from '../postings/ledger-writes.ts';
import { addCounters } from '../postings/posting-batch.ts';
import type { DurableHolds } from './durable-holds.ts';
import type { LedgerStates } from './ledger-states.ts';
import { requireDatabase } from './require-database.ts';
import type { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedHoldIncreasesDependencies {
  readonly db: Database;
  readonly states: LedgerStates;
  readonly durable: DurableHolds;
  readonly unresolvedEnds: UnresolvedHoldEnds;
}

export class EmbeddedHoldIncreases {
  readonly #deps: EmbeddedHoldIncreasesDependencies;

  constructor(deps: EmbeddedHoldIncreasesDependencies) {
    this.#deps = deps;
  }

  async increase(orgId: string, holdId: string, request: HoldIncrease): Promise<IncreaseResult> {
    const { db, states, durable, unresolvedEnds } = this.#deps;
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
      const increased = increaseHold(orgState, open.hold, request);
      switch (increased.kind) {
        case 'increased':
          open.hold = increased.hold;
          try {
            await durable.add([open]);
          } catch (error) {
            // An ended hold was released as a whole.
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
}
