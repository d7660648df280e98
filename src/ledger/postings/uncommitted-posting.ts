/** Bookings that are accepted in memory, and not yet in the database. */
import type { Taken } from '../../kernel/admission.ts';
import { lower, nothingTaken } from '../../kernel/settlement.ts';
import type { Book, OpenHold } from '../holds/org-ledger-state.ts';
import type { Booked } from '../posting.ts';

/** One accepted booking and how to undo it in memory. A batch may have thousands: a plain charge keeps nothing more. */
export class Prepared<Run> {
  readonly book: Book;
  readonly booked: Booked<Run>;
  /** The hold that this ends. */
  readonly ends: OpenHold | null;
  /** What that took, as it was; a charge without a hold leaves nothing behind. */
  readonly #before: Taken;
  /** What else is to be undone. */
  #alsoUndo: (() => void) | undefined;

  constructor(book: Book, booked: Booked<Run>, ends: OpenHold | null, alsoUndo: (() => void) | undefined) {
    this.book = book;
    this.booked = booked;
    this.ends = ends;
    this.#before = ends?.hold ?? nothingTaken;
    this.#alsoUndo = alsoUndo;
  }

  undo(): void {
    const { charged } = this.booked;
    if (charged !== null) {
      lower(this.book.counters, charged, this.#before);
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
export function undoAll(prepared: readonly Prepared<unknown>[]): void {
  for (let at = prepared.length - 1; at >= 0; at -= 1) {
    prepared[at]?.undo();
  }
}
