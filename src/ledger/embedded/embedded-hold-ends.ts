/** How holds of the embedded engine end without a run, or later than they would have. */
import { type Database, DatabaseUnavailable } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldChange } from '../holds/hold-request.ts';
import type { OpenHold } from '../holds/org-ledger-state.ts';
import { extendedTo } from '../holds/take-hold.ts';
import { findEnds, type HoldEnd, insertEnds } from '../postings/ledger-writes.ts';
import type { DurableHolds } from './durable-holds.ts';
import type { LedgerStates } from './ledger-states.ts';
import type { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedHoldEndsDependencies {
  readonly db: Database;
  readonly states: LedgerStates;
  readonly durable: DurableHolds;
  readonly doubts: UnresolvedHoldEnds;
  now(): number;
}

const expiriesPerBatch = 1_000;

export class EmbeddedHoldEnds {
  readonly #parts: EmbeddedHoldEndsDependencies;

  constructor(parts: EmbeddedHoldEndsDependencies) {
    this.#parts = parts;
  }

  async void(orgId: string, holdId: string): Promise<HoldChange> {
    const orgState = await this.#parts.states.open(orgId);
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return this.#endedOrUnknown(orgId, holdId);
    }
    this.#parts.doubts.refuse([holdId]);
    const [hold] = await this.#end([open], 'voided', Number.POSITIVE_INFINITY);
    this.#parts.doubts.refuse([holdId]);
    return hold === undefined ? { kind: 'ended' } : { kind: 'changed', hold };
  }

  async #endedOrUnknown(orgId: string, holdId: string): Promise<HoldChange> {
    const ends = await findEnds(this.#parts.db, [orgId], [holdId]);
    return { kind: ends.length > 0 ? 'ended' : 'unknown' };
  }

  /**
   * Ends those that are still open, and expire by then; returns them. Decided in a turn of the database, in which no
   * settle is under way: one that came before has ended its hold, one that comes after finds the end and is late. The
   * end is in the database, then memory changes, then the log forgets.
   */
  async #end(holds: readonly OpenHold[], endedAs: 'voided' | 'expired', dueMs: number): Promise<Hold[]> {
    let ending: OpenHold[] = [];
    try {
      await this.#parts.db.transaction(async (tx) => {
        setEnding(ending, false);
        ending = holds.filter(
          (open) =>
            this.#parts.states.isOpen(open) &&
            !open.ending &&
            (endedAs === 'voided' || open.hold.expiresAtMs <= dueMs),
        );
        setEnding(ending, true);
        await insertEnds(
          tx,
          ending.map(({ hold }): HoldEnd => ({ hold, endedAs, runId: null })),
          this.#parts.now(),
        );
      });
    } catch (error) {
      if (error instanceof DatabaseUnavailable) {
        void this.#resolveLater(ending);
      } else {
        setEnding(ending, false);
      }
      throw error;
    }
    return this.#ended(ending);
  }

  #ended(ending: readonly OpenHold[]): Hold[] {
    const holds = ending.map(({ hold }) => hold);
    for (const open of ending) {
      this.#parts.states.release(open);
    }
    this.#parts.durable.remove(ending);
    return holds;
  }

  /** The answer to COMMIT was lost. They stay as they are until their ends, or that they have none, can be read. */
  async #resolveLater(ending: readonly OpenHold[]): Promise<void> {
    const ids = ending.map(({ hold }) => hold.id);
    await this.#parts.doubts.resolve(ids, async () => {
      const orgIds = ending.map(({ hold }) => hold.orgId);
      const ends = await findEnds(this.#parts.db, orgIds, ids);
      const ended = new Set(ends.map(({ hold_id }) => hold_id));
      this.#ended(ending.filter(({ hold }) => ended.has(hold.id)));
      setEnding(
        ending.filter(({ hold }) => !ended.has(hold.id)),
        false,
      );
    });
  }

  async extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    const orgState = await this.#parts.states.open(orgId);
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return this.#endedOrUnknown(orgId, holdId);
    }
    this.#parts.doubts.refuse([holdId]);
    if (open.ending) {
      return { kind: 'ended' };
    }
    const hold: Hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, this.#parts.now(), seconds) };
    this.#parts.durable.replace(open, hold);
    this.#parts.states.prolong(open, hold);
    return { kind: 'changed', hold };
  }

  async expireDue(): Promise<boolean> {
    const nowMs = this.#parts.now();
    const due = this.#parts.states.expiries.takeDue(nowMs, expiriesPerBatch);
    const expired: OpenHold[] = [];
    try {
      for (const open of due) {
        await this.#parts.states.open(open.hold.orgId);
        if (this.#parts.states.isOpen(open)) {
          if (open.hold.expiresAtMs <= nowMs) {
            expired.push(open);
          } else {
            // It was put back, and prolonged since.
            this.#parts.states.expiries.add(open);
          }
        }
      }
      if (expired.length > 0) {
        await this.#end(expired, 'expired', nowMs);
      }
    } catch (error) {
      this.#parts.states.expiries.putBack(due, nowMs);
      throw error;
    }
    this.#parts.states.expiries.putBack(
      expired.filter((open) => this.#parts.states.isOpen(open)),
      nowMs,
    );
    return due.length === expiriesPerBatch;
  }
}

function setEnding(holds: readonly OpenHold[], ending: boolean): void {
  for (const open of holds) {
    open.ending = ending;
  }
}
