/**
 * Decides bookings on a book, one after the other, without a pause in between. What it accepts is taken in the book's
 * counters, up to the raised hold; whoever keeps the book concludes that or undoes it.
 */
import { admit, type Charge, meetingOf, releaseAll, type Taken, takeAll } from '../../kernel/admission.ts';
import type { Scope } from '../../kernel/limits.ts';
import { correct, nothingTaken, paidWith, type Raised, raise } from '../../kernel/settlement.ts';
import { type Hold, restoredHold } from '../holds/hold.ts';
import type { Book, OpenHold } from '../holds/org-ledger-state.ts';
import type { Booked, Booking, BookingGroup, GroupResult, Mark, Outcome, Refused } from '../posting.ts';
import { contradiction, settledScope } from './effective-scope.ts';
import { type Known, nameOf, nothingPaid } from './existing-records.ts';
import { Prepared, undoAll } from './uncommitted-posting.ts';

export interface DeciderRequest {
  readonly bookOf: (orgId: string) => Book;
  readonly nowMs: number;
}

type Decided<Run> = Prepared<Run> | Refused;
type KnownRun<Run> = Extract<Outcome<Run>, { kind: 'known' }>;

/** Decides group after group on the counters as the groups before have left them. */
export class Decider<Run> {
  readonly #request: DeciderRequest;
  readonly #known: Known;
  /** Holds that this batch has ended: by which run. */
  readonly #ended = new Map<string, string>();

  constructor(request: DeciderRequest, known: Known) {
    this.#request = request;
    this.#known = known;
  }

  decide(group: BookingGroup<Run>): { result: GroupResult<Run>; prepared: Prepared<Run>[] } {
    const book = this.#request.bookOf(group.orgId);
    const outcomes: Outcome<Run>[] = [];
    const prepared: Prepared<Run>[] = [];
    try {
      for (const [index, booking] of group.bookings.entries()) {
        const decided = this.#decideOne(book, booking, index);
        if (decided instanceof Prepared) {
          outcomes.push(decided.booked);
          prepared.push(decided);
        } else if (decided.kind === 'known') {
          outcomes.push(decided);
        } else {
          this.#undo(prepared);
          return { result: decided, prepared: [] };
        }
      }
    } catch (error) {
      this.#undo(prepared);
      throw error;
    }
    return { result: { kind: 'done', outcomes }, prepared };
  }

  #decideOne(book: Book, booking: Booking<Run>, index: number): Decided<Run> | KnownRun<Run> {
    const { externalId, contentDigest = null } = booking;
    const known = externalId === null ? undefined : this.#known.runs.get(book.orgId, externalId);
    if (known !== undefined) {
      const isComparable = contentDigest !== null && known.contentDigest !== null;
      return isComparable && contentDigest !== known.contentDigest
        ? { kind: 'external_id_conflict', index }
        : { kind: 'known', booking, runId: known.runId };
    }
    const decided =
      booking.permit === undefined
        ? this.#book(book, booking, index)
        : this.#bookPermitted(book, booking, booking.permit, index);
    if (externalId !== null && decided instanceof Prepared) {
      this.#known.runs.set(book.orgId, externalId, { runId: booking.runId, contentDigest });
    }
    return decided;
  }

  /** Those of a group that is refused: the groups behind it do not find them either. */
  #undo(prepared: readonly Prepared<Run>[]): void {
    undoAll(prepared);
    for (const { book, booked } of prepared) {
      if (booked.booking.externalId !== null) {
        this.#known.runs.delete(book.orgId, booked.booking.externalId);
      }
    }
  }

  /** What is refused further on, or undone, has not used its permit. */
  #bookPermitted(book: Book, booking: Booking<Run>, permit: string, index: number): Decided<Run> {
    const { permits } = this.#known;
    const left = permits.get(permit) ?? 0;
    if (left < 1) {
      return { kind: 'permit_spent', index };
    }
    const decided = this.#book(book, booking, index);
    if (decided instanceof Prepared) {
      permits.set(permit, left - 1);
      decided.alsoUndo(() => permits.set(permit, (permits.get(permit) ?? 0) + 1));
    }
    return decided;
  }

  #book(book: Book, booking: Booking<Run>, index: number): Decided<Run> {
    switch (booking.kind) {
      case 'open':
        return this.#open(book, booking, index);
      case 'adjust':
        return this.#adjust(book, booking);
      case 'record':
        return this.#accept(book, booking, nothingTaken, booking.atMs ?? this.#request.nowMs, backfill);
      default:
        return booking.decisionId === null
          ? this.#charge(book, booking, index)
          : this.#settle(book, booking, booking.decisionId, index);
    }
  }

  #admit(book: Book, booking: Booking<Run>, index: number, preFlight: boolean): Taken | Refused {
    const charge = this.#chargeNow(booking);
    const { counters: met, shares } = meetingOf(book.limits, charge.scope, charge.atMs, 'run');
    const admission = admit(book.counters, { limits: book.limits, charge, met, preFlight });
    if (admission.kind === 'denied') {
      return { kind: 'denied', index, denial: admission.denial };
    }
    const taken = { shares, amounts: charge.amounts, packs: admission.packs };
    takeAll(book.counters, taken);
    return taken;
  }

  #chargeNow({ scope, amounts, depth }: Booking): Charge {
    return { scope, amounts, depth, atMs: this.#request.nowMs };
  }

  /** Every charge is a hold followed by a settle, also this one. */
  #charge(book: Book, booking: Booking<Run>, index: number): Decided<Run> {
    const taken = this.#admit(book, booking, index, false);
    return 'index' in taken ? taken : this.#accept(book, booking, taken, this.#request.nowMs, noMarks);
  }

  #open(book: Book, booking: Booking<Run>, index: number): Decided<Run> {
    const taken = this.#admit(book, booking, index, true);
    if ('index' in taken) {
      return taken;
    }
    const { nowMs } = this.#request;
    const hold: Hold = {
      id: booking.decisionId ?? booking.runId,
      orgId: book.orgId,
      runId: booking.runId,
      surface: 'run',
      scope: booking.scope,
      amounts: booking.amounts,
      admittedAtMs: nowMs,
      expiresAtMs: nowMs + booking.holdSeconds * 1_000,
      shares: taken.shares,
      packs: taken.packs,
      priceVersion: booking.priceVersion,
      idempotency: null,
    };
    const open = book.keep(hold);
    const undo = () => {
      // Whoever has ended it meanwhile has given back what it took.
      if (book.holds.get(hold.id) === open) {
        book.holds.delete(hold.id);
        releaseAll(book.counters, taken);
      }
    };
    return this.#done(book, booking, { scope: hold.scope, atMs: nowMs, hold, undo });
  }

  #settle(book: Book, booking: Booking<Run>, decisionId: string, index: number): Decided<Run> {
    const name = nameOf(book.orgId, decisionId);
    const open = book.holds.get(decisionId);
    const end = this.#known.ends.get(name);
    const hold = open?.hold ?? (end && restoredHold(end.body));
    const isComplete = booking.kind === 'complete';
    const settledBy = this.#ended.get(name) ?? end?.run_id ?? null;
    const ofAnother = hold !== undefined && hold.runId !== null && hold.runId !== booking.runId;
    if (settledBy !== null || ofAnother) {
      // Several runs may have gone on under one decision. Only one settles it; what the others cost is gone all the same.
      return isComplete && settledBy !== booking.runId
        ? this.#settleLate(book, booking, hold)
        : { kind: 'settled_already', index };
    }
    if (hold === undefined) {
      // The run itself was opened here: whatever became of its hold, what it cost is a fact.
      return isComplete ? this.#settleLate(book, booking, hold) : { kind: 'unknown_decision', index };
    }
    const field = contradiction(hold, booking);
    if (field !== undefined) {
      return { kind: 'contradiction', index, field };
    }
    return open === undefined ? this.#settleLate(book, booking, hold) : this.#settleOpen(book, booking, open);
  }

  #settleOpen(book: Book, booking: Booking<Run>, open: OpenHold): Decided<Run> {
    const { hold } = open;
    const name = nameOf(book.orgId, hold.id);
    const scope = settledScope(hold, booking);
    if (booking.kind === 'adopt') {
      return this.#done(book, booking, { scope, atMs: hold.admittedAtMs, hold });
    }
    const marks: Mark[] = booking.amounts.usd > hold.amounts.usd ? ['over_hold'] : [];
    if (hold.degraded === true) {
      marks.push('degraded');
    }
    const decided = this.#accept(book, { ...booking, scope }, hold, hold.admittedAtMs, marks, open);
    open.ending = true;
    this.#ended.set(name, booking.runId);
    decided.alsoUndo(() => {
      open.ending = false;
      this.#ended.delete(name);
    });
    return decided;
  }

  #settleLate(book: Book, booking: Booking<Run>, hold: Hold | undefined): Decided<Run> {
    const name = nameOf(book.orgId, booking.decisionId ?? '');
    if (booking.kind === 'adopt') {
      const scope = hold === undefined ? booking.scope : settledScope(hold, booking);
      const atMs = hold?.admittedAtMs ?? this.#request.nowMs;
      return this.#done(book, booking, { scope, atMs });
    }
    const isFirst = !this.#ended.has(name);
    if (isFirst) {
      this.#ended.set(name, booking.runId);
    }
    const scope = hold === undefined ? booking.scope : settledScope(hold, booking);
    const atMs = hold?.admittedAtMs ?? booking.atMs ?? this.#request.nowMs;
    const decided = this.#accept(book, { ...booking, scope }, nothingTaken, atMs, ['late']);
    if (isFirst) {
      decided.alsoUndo(() => this.#ended.delete(name));
    }
    return decided;
  }

  #adjust(book: Book, booking: Booking<Run>): Decided<Run> {
    const { scope, amounts } = booking;
    const atMs = booking.atMs ?? this.#request.nowMs;
    const name = nameOf(book.orgId, booking.runId);
    const paid = this.#known.paid.get(name) ?? nothingPaid;
    const { counters: met } = meetingOf(book.limits, scope, atMs, paid.recorded ? 'record' : 'run');
    const charged = correct(book.counters, { ...paid, met, amounts, atMs });
    this.#known.paid.set(name, { ...paid, ...paidWith(paid, charged) });
    const undo = () => void this.#known.paid.set(name, paid);
    return this.#done(book, booking, { scope, atMs, charged, undo });
  }

  #accept(
    book: Book,
    booking: Booking<Run>,
    taken: Taken,
    atMs: number,
    marks: readonly Mark[],
    ends: OpenHold | null = null,
  ): Prepared<Run> {
    const { scope, amounts } = booking;
    const surface = booking.kind === 'record' ? 'record' : 'run';
    const { counters: met } = meetingOf(book.limits, scope, atMs, surface);
    const charged = raise(book.counters, { taken, met, amounts, atMs });
    return this.#done(book, booking, { scope, atMs, marks, charged, ends });
  }

  #done(
    book: Book,
    booking: Booking<Run>,
    done: {
      readonly scope: Scope;
      readonly atMs: number;
      readonly marks?: readonly Mark[];
      readonly hold?: Hold;
      readonly charged?: Raised;
      readonly ends?: OpenHold | null;
      readonly undo?: () => void;
    },
  ): Prepared<Run> {
    const booked: Booked<Run> = {
      kind: 'booked',
      orgId: book.orgId,
      booking,
      scope: done.scope,
      chargedAtMs: done.atMs,
      bookedAtMs: this.#request.nowMs,
      marks: done.marks ?? noMarks,
      hold: done.hold ?? null,
      charged: done.charged ?? null,
    };
    return new Prepared(book, booked, done.ends ?? null, done.undo);
  }
}

const noMarks: readonly Mark[] = [];
const backfill: readonly Mark[] = ['backfill'];
