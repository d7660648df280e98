/**
 * Decides bookings on a book, one after the other, without a pause in between. What it accepts is taken in the book's
 * counters, up to the raised hold; whoever keeps the book concludes that or undoes it.
 */
import {
  admit,
  appliedLimits,
  type Charge,
  meetingOf,
  release,
  type Share,
  take,
  takesOf,
} from '../../kernel/admission.ts';
import type { Scope } from '../../kernel/limits.ts';
import { correct, lower, type Raised, raise, type Taken } from '../../kernel/settlement.ts';
import type { Book, OpenHold } from './book.ts';
import type { Booked, Booking, BookingGroup, GroupResult, Mark, Outcome, Refused } from './booking.ts';
import { isErased } from './erased.ts';
import type { HoldEndRow } from './facts.ts';
import { type Hold, restoredHold, takenBy } from './hold.ts';

export interface PaidSoFar {
  readonly burned: readonly { readonly key: string; readonly amount: bigint }[];
  readonly uncovered: bigint;
  readonly prepaid: bigint;
  /** It is history, which burns neither credits nor a prepaid balance. */
  readonly recorded: boolean;
}

/** One accepted booking and how to finish or undo it in memory. */
export interface Prepared<Run> {
  readonly book: Book;
  readonly booked: Booked<Run>;
  /** The hold that this ends. */
  readonly ends: Hold | null;
  readonly undo: () => void;
}

/** In memory, nothing came of them. */
export function undoAll(prepared: readonly Prepared<unknown>[]): void {
  for (const { undo } of [...prepared].reverse()) {
    undo();
  }
}

/** What the books already say about the bookings. */
export interface Known {
  readonly runs: Map<string, string>;
  readonly ends: Map<string, HoldEndRow>;
  readonly paid: ReadonlyMap<Booking, PaidSoFar>;
  /** How often each permit may still be used; one that is missing may not. */
  readonly permits: Map<string, number>;
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

interface Admitted extends Taken {
  readonly shares: readonly Share[];
}

type Decided<Run> = { readonly outcome: Outcome<Run>; readonly prepared?: Prepared<Run> } | Refused;

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
        if (!('outcome' in decided)) {
          undoAll(prepared);
          return { result: decided, prepared: [] };
        }
        outcomes.push(decided.outcome);
        if (decided.prepared !== undefined) {
          prepared.push(decided.prepared);
        }
      }
    } catch (error) {
      undoAll(prepared);
      throw error;
    }
    return { result: { kind: 'done', outcomes }, prepared };
  }

  #decideOne(book: Book, booking: Booking<Run>, index: number): Decided<Run> {
    const name = booking.externalId === null ? undefined : nameOf(book.orgId, booking.externalId);
    const runId = name === undefined ? undefined : this.#known.runs.get(name);
    if (runId !== undefined) {
      return { outcome: { kind: 'known', booking, runId } };
    }
    const decided =
      booking.permit === undefined
        ? this.#book(book, booking, index)
        : this.#bookPermitted(book, booking, booking.permit, index);
    if (name !== undefined && 'prepared' in decided && decided.prepared !== undefined) {
      this.#known.runs.set(name, booking.runId);
      const { undo } = decided.prepared;
      return {
        ...decided,
        prepared: {
          ...decided.prepared,
          undo: () => {
            this.#known.runs.delete(name);
            undo();
          },
        },
      };
    }
    return decided;
  }

  /** What is refused further on, or undone, has not used its permit. */
  #bookPermitted(book: Book, booking: Booking<Run>, permit: string, index: number): Decided<Run> {
    const { permits } = this.#known;
    const left = permits.get(permit) ?? 0;
    if (left < 1) {
      return { kind: 'permit_spent', index };
    }
    const decided = this.#book(book, booking, index);
    if (!('prepared' in decided) || decided.prepared === undefined) {
      return decided;
    }
    permits.set(permit, left - 1);
    const { undo } = decided.prepared;
    return {
      ...decided,
      prepared: {
        ...decided.prepared,
        undo: () => {
          permits.set(permit, (permits.get(permit) ?? 0) + 1);
          undo();
        },
      },
    };
  }

  #book(book: Book, booking: Booking<Run>, index: number): Decided<Run> {
    switch (booking.kind) {
      case 'open':
        return this.#open(book, booking, index);
      case 'adjust':
        return this.#adjust(book, booking);
      case 'record':
        return this.#accept(book, booking, { takes: [], packs: [] }, booking.atMs ?? this.#request.nowMs, [
          'backfill',
        ]);
      default:
        return booking.decisionId === null
          ? this.#charge(book, booking, index)
          : this.#settle(book, booking, booking.decisionId, index);
    }
  }

  #admit(book: Book, booking: Booking<Run>, index: number, preFlight: boolean): Admitted | Refused {
    const charge = this.#chargeNow(booking);
    const { counters: met, shares } = meetingOf(book.limits, charge.scope, charge.atMs, 'run');
    const admission = admit(book.counters, { limits: book.limits, charge, met, preFlight });
    if (admission.kind === 'denied') {
      return { kind: 'denied', index, denial: admission.denial };
    }
    const taken = { shares, takes: takesOf(shares, charge.amounts), packs: admission.packs };
    take(book.counters, taken.takes);
    take(book.counters, taken.packs);
    return taken;
  }

  #chargeNow({ scope, amounts, depth }: Booking): Charge {
    return { scope, amounts, depth, atMs: this.#request.nowMs };
  }

  /** Every charge is a hold followed by a settle, also this one. */
  #charge(book: Book, booking: Booking<Run>, index: number): Decided<Run> {
    const taken = this.#admit(book, booking, index, false);
    return 'index' in taken ? taken : this.#accept(book, booking, taken, this.#request.nowMs, []);
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
    book.holds.set(hold.id, { hold, ending: false });
    const undo = () => {
      book.holds.delete(hold.id);
      release(book.counters, taken.takes);
      release(book.counters, taken.packs);
    };
    return this.#done(book, booking, {
      scope: hold.scope,
      atMs: nowMs,
      marks: [],
      hold,
      charged: null,
      undo,
    });
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
      const undo = () => undefined;
      return this.#done(book, booking, {
        scope,
        atMs: hold.admittedAtMs,
        marks: [],
        hold,
        charged: null,
        undo,
      });
    }
    open.ending = true;
    this.#ended.set(name, booking.runId);
    const marks: Mark[] = booking.amounts.usd > hold.amounts.usd ? ['over_hold'] : [];
    if (hold.degraded === true) {
      marks.push('degraded');
    }
    const decided = this.#accept(book, { ...booking, scope }, takenBy(hold), hold.admittedAtMs, marks, hold);
    return {
      ...decided,
      prepared: {
        ...decided.prepared,
        undo: () => {
          open.ending = false;
          this.#ended.delete(name);
          decided.prepared.undo();
        },
      },
    };
  }

  #settleLate(book: Book, booking: Booking<Run>, hold: Hold | undefined): Decided<Run> {
    const name = nameOf(book.orgId, booking.decisionId ?? '');
    if (booking.kind === 'adopt') {
      const scope = hold === undefined ? booking.scope : settledScope(hold, booking);
      const atMs = hold?.admittedAtMs ?? this.#request.nowMs;
      const undo = () => undefined;
      return this.#done(book, booking, { scope, atMs, marks: [], hold: null, charged: null, undo });
    }
    const isFirst = !this.#ended.has(name);
    if (isFirst) {
      this.#ended.set(name, booking.runId);
    }
    const scope = hold === undefined ? booking.scope : settledScope(hold, booking);
    const atMs = hold?.admittedAtMs ?? booking.atMs ?? this.#request.nowMs;
    const decided = this.#accept(book, { ...booking, scope }, { takes: [], packs: [] }, atMs, ['late']);
    return {
      ...decided,
      prepared: {
        ...decided.prepared,
        undo: () => {
          if (isFirst) {
            this.#ended.delete(name);
          }
          decided.prepared.undo();
        },
      },
    };
  }

  #adjust(book: Book, booking: Booking<Run>): Decided<Run> {
    const { scope, amounts } = booking;
    const atMs = booking.atMs ?? this.#request.nowMs;
    const paid = this.#known.paid.get(booking) ?? nothingPaid;
    const charge = { scope, amounts, depth: null, atMs };
    const applied = appliedLimits(book.limits, charge, paid.recorded ? 'record' : 'run').map((one) =>
      // The balance gets back what it paid and no more: the run may be older than it.
      one.limit.kind === 'prepaid' && one.amount < -paid.prepaid ? { ...one, amount: -paid.prepaid } : one,
    );
    const { burned, uncovered } = paid;
    const raised = correct(book.counters, { applied, delta: amounts.usd, atMs, burned, uncovered });
    const undo = () => lower(book.counters, raised, { takes: [], packs: [] });
    return this.#done(book, booking, { scope, atMs, marks: [], hold: null, charged: raised, undo });
  }

  #accept(
    book: Book,
    booking: Booking<Run>,
    taken: Taken,
    atMs: number,
    marks: readonly Mark[],
    ends: Hold | null = null,
  ): { outcome: Booked<Run>; prepared: Prepared<Run> } {
    const { scope, amounts } = booking;
    const surface = booking.kind === 'record' ? 'record' : 'run';
    const applied = appliedLimits(book.limits, { scope, amounts, depth: null, atMs }, surface);
    const raised = raise(book.counters, { ...taken, applied, usd: amounts.usd, atMs });
    // The hold as it was; a charge without one leaves nothing behind.
    const before: Taken = ends === null ? { takes: [], packs: [] } : takenBy(ends);
    const undo = () => lower(book.counters, raised, before);
    return this.#done(book, booking, { scope, atMs, marks, hold: null, charged: raised, undo, ends });
  }

  #done(
    book: Book,
    booking: Booking<Run>,
    done: {
      readonly scope: Scope;
      readonly atMs: number;
      readonly marks: readonly Mark[];
      readonly hold: Hold | null;
      readonly charged: Raised | null;
      readonly undo: () => void;
      readonly ends?: Hold | null;
    },
  ): { outcome: Booked<Run>; prepared: Prepared<Run> } {
    const booked: Booked<Run> = {
      kind: 'booked',
      orgId: book.orgId,
      booking,
      scope: done.scope,
      chargedAtMs: done.atMs,
      bookedAtMs: this.#request.nowMs,
      marks: done.marks,
      hold: done.hold,
      charged: done.charged,
    };
    return { outcome: booked, prepared: { book, booked, ends: done.ends ?? null, undo: done.undo } };
  }
}
