/** Posting that are accepted in memory, and not yet in the database. */
import type { Reservation } from '../../kernel/admission.ts';
import { emptyReservation, rollBackSettlement } from '../../kernel/settlement.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Posted } from '../posting.ts';

/** One accepted posting and how to undo it in memory. A batch may have thousands: a plain charge keeps nothing more. */
export class UncommittedPosting<Run> {
  readonly orgState: OrgLedgerState;
  readonly posted: Posted<Run>;
  /** The hold that this ends. */
  readonly ends: OpenHold | null;
  /** What that took, as it was; a charge without a hold leaves nothing behind. */
  readonly #before: Reservation;
  /** What else is to be undone. */
  #alsoUndo: (() => void) | undefined;

  constructor(
    orgState: OrgLedgerState,
    posted: Posted<Run>,
    ends: OpenHold | null,
    alsoUndo: (() => void) | undefined,
  ) {
    this.orgState = orgState;
    this.posted = posted;
    this.ends = ends;
    this.#before = ends?.hold ?? emptyReservation;
    this.#alsoUndo = alsoUndo;
  }

  undo(): void {
    const { charged } = this.posted;
    if (charged !== null) {
      rollBackSettlement(this.orgState.counters, charged, this.#before);
    }
    this.#alsoUndo?.();
  }

  alsoUndo(more: () => void): void {
    const before = this.#alsoUndo;
    this.#alsoUndo =
      before === undefined
        ? more
        : () => {
            more();
            before();
          };
  }
}

/** In memory, nothing came of them. */
export function rollBackAll(prepared: readonly UncommittedPosting<unknown>[]): void {
  for (let at = prepared.length - 1; at >= 0; at -= 1) {
    prepared[at]?.undo();
  }
}
