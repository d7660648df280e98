/**
 * Decides bookings on a book, one after the other, without a pause in between. What it accepts is taken in the book's
 * counters, up to the raised hold; whoever keeps the book concludes that or undoes it.
 */
import { admit, type Charge, meetingOf, releaseAll, type Taken, takeAll } from '../../kernel/admission.ts';
import type { Scope } from '../../kernel/limits.ts';
import {
  correct,
  lower,
  nothingTaken,
  type Paid,
  paidWith,
  type Raised,
  raise,
} from '../../kernel/settlement.ts';
import type { Book, OpenHold } from './book.ts';
import type { Booked, Booking, BookingGroup, GroupResult, Mark, Outcome, Refused } from './booking.ts';
import { isErased } from './erased.ts';
import type { HoldEndRow } from './facts.ts';
import { type Hold, restoredHold } from './hold.ts';

export interface PaidSoFar extends Paid {
  /** It is history, which burns neither credits nor a prepaid balance. */
  readonly recorded: boolean;
}

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

/** What the books already say about the bookings. */
export interface Known {
  readonly runs: KnownRuns;
  readonly ends: Map<string, HoldEndRow>;
  /** Of each run that is corrected; what one correction gives back is not there for the next. */
  readonly paid: Map<string, PaidSoFar>;
  /** How often each permit may still be used; one that is missing may not. */
  readonly permits: Map<string, number>;
}

/** The runs that have these ids of their callers. By org, so that none needs a name put together for it. */
export class KnownRuns {
  readonly #byOrg = new Map<string, Map<string, string>>();

  get(orgId: string, externalId: string): string | undefined {
    return this.#byOrg.get(orgId)?.get(externalId);
  }

  set(orgId: string, externalId: string, runId: string): void {
    const there = this.#byOrg.get(orgId);
    if (there === undefined) {
      this.#byOrg.set(orgId, new Map([[externalId, runId]]));
    } else {
      there.set(externalId, runId);
    }
  }

  delete(orgId: string, externalId: string): void {
    this.#byOrg.get(orgId)?.delete(externalId);
  }
}

export const nameOf = (orgId: string, id: string) => `${orgId} ${id}`;

const nothingPaid: PaidSoFar = { burned: [], uncovered: 0n, prepaid: 0n, recorded: false };

export interface DeciderRequest {
  readonly bookOf: (orgId: string) => Book;
  readonly nowMs: number;
}

/** What a booking is about, and the instant that it belongs to: its hold's, where it has one. */
export function whereItCounts(
  book: Book,
  booking: Booking,
  { ends }: Known,
  nowMs: number,
): { scope: Scope; atMs: number } {
  const hold = holdOf(book, booking) ?? endedHold(ends, book.orgId, booking);
  return {
    scope: hold === undefined ? booking.scope : settledScope(hold, booking),
    atMs: hold?.admittedAtMs ?? booking.atMs ?? nowMs,
  };
}

function holdOf(book: Book, { kind, decisionId }: Booking): Hold | undefined {
  return decisionId === null || kind === 'open' ? undefined : book.holds.get(decisionId)?.hold;
}

function endedHold(ends: Known['ends'], orgId: string, { kind, decisionId }: Booking): Hold | undefined {
  const end = decisionId === null || kind === 'open' ? undefined : ends.get(nameOf(orgId, decisionId));
  return end === undefined ? undefined : restoredHold(end.body);
}

/** What a limit can count by is the hold's to say; the rest is the run's, where the hold left it open. */
function settledScope({ scope: held }: Hold, { scope: said }: Booking): Scope {
  return {
    ...held,
    provider: held.provider ?? said.provider,
    action: held.action ?? said.action,
    team: held.team ?? said.team,
    chain_id: held.chain_id ?? said.chain_id,
  };
}

const fixedByHold = ['model', 'workflow', 'deployment', 'department', 'customer_id'] as const;
const fixedIfSaid = ['provider', 'action', 'team', 'chain_id'] as const;

function contradiction({ scope: held }: Hold, { scope: said }: Booking): string | undefined {
  return (
    fixedByHold.find(
      (field) =>
        said[field] !== null &&
        said[field] !== held[field] &&
        // Whoever settles it does not know that the customer was erased meanwhile, and what it cost is a fact.
        !(field === 'customer_id' && isErased(held.customer_id)),
    ) ??
    fixedIfSaid.find(
      (field) =>
        said[field] !== null &&
        held[field] !== null &&
        said[field] !== held[field] &&
        !(field === 'chain_id' && isErased(held.customer_id)),
    )
  );
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
    const { externalId } = booking;
    const runId = externalId === null ? undefined : this.#known.runs.get(book.orgId, externalId);
    if (runId !== undefined) {
      return { kind: 'known', booking, runId };
    }
    const decided =
      booking.permit === undefined
        ? this.#book(book, booking, index)
        : this.#bookPermitted(book, booking, booking.permit, index);
    if (externalId !== null && decided instanceof Prepared) {
      this.#known.runs.set(book.orgId, externalId, booking.runId);
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
