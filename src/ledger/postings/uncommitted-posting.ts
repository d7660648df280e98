/** Postings that are applied in memory and not yet committed to the database. */
import type { Reservation } from '../../kernel/admission.ts';
import { emptyReservation, rollBackSettlement } from '../../kernel/settlement.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Posted } from '../posting.ts';

/**
 * An accepted posting, and how to roll it back in memory. A batch may have thousands of postings, so a plain charge stores only the
 * required fields.
 */
export class UncommittedPosting<Run> {
  readonly orgState: OrgLedgerState;
  readonly posted: Posted<Run>;
  /** The hold that this posting ends. */
  readonly ends: OpenHold | null;
  /** The reversal of an earlier charge that this posting replaces. */
  readonly #reversal: UncommittedPosting<Run> | null;
  /** The reservation of `ends` before the posting; empty if the posting does not end a hold. */
  readonly #before: Reservation;
  /** Additional rollback steps. */
  #alsoUndo: (() => void) | undefined;

  constructor(
    orgState: OrgLedgerState,
    posted: Posted<Run>,
    ends: OpenHold | null,
    alsoUndo: (() => void) | undefined,
    reversal: UncommittedPosting<Run> | null = null,
  ) {
    this.orgState = orgState;
    this.posted = posted;
    this.ends = ends;
    this.#before = ends?.hold ?? emptyReservation;
    this.#alsoUndo = alsoUndo;
    this.#reversal = reversal;
  }

  /** Returns the reversal of the charge that this posting replaces, if there is one, and then this posting. */
  withReversal(): readonly UncommittedPosting<Run>[] {
    return this.#reversal === null ? [this] : [this.#reversal, this];
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

/** Rolls back postings in memory, in reverse order. */
export function rollBackAll(uncommitted: readonly UncommittedPosting<unknown>[]): void {
  for (let at = uncommitted.length - 1; at >= 0; at -= 1) {
    uncommitted[at]?.undo();
  }
}
