/**
 * Decides postings on a book, one after the other, without a pause in between. What it accepts is taken in the book's
 * counters, up to the raised hold; whoever keeps the book concludes that or undoes it.
 */
import {
  admit,
  applicableCounters,
  type Charge,
  type Reservation,
  releaseReservation,
  reserve,
} from '../../kernel/admission.ts';
import type { Scope } from '../../kernel/limits.ts';
import {
  correct,
  emptyReservation,
  type PendingSettlement,
  paidWith,
  prepareSettlement,
} from '../../kernel/settlement.ts';
import { type Hold, restoredHold } from '../holds/hold.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type {
  GroupResult,
  Mark,
  Outcome,
  Posted,
  Posting,
  PostingGroup,
  PostingRejection,
} from '../posting.ts';
import { contradiction, settledScope } from './effective-scope.ts';
import { type ExistingRecords, nothingPaid, recordKey } from './existing-records.ts';
import { rollBackAll, UncommittedPosting } from './uncommitted-posting.ts';

export interface DeciderRequest {
  readonly bookOf: (orgId: string) => OrgLedgerState;
  readonly nowMs: number;
}

type Decided<Run> = UncommittedPosting<Run> | PostingRejection;
type KnownRun<Run> = Extract<Outcome<Run>, { kind: 'known' }>;

/** Decides group after group on the counters as the groups before have left them. */
export class Decider<Run> {
  readonly #request: DeciderRequest;
  readonly #known: ExistingRecords;
  /** Holds that this batch has ended: by which run. */
  readonly #ended = new Map<string, string>();

  constructor(request: DeciderRequest, known: ExistingRecords) {
    this.#request = request;
    this.#known = known;
  }

  decide(group: PostingGroup<Run>): { result: GroupResult<Run>; prepared: UncommittedPosting<Run>[] } {
    const orgState = this.#request.bookOf(group.orgId);
    const outcomes: Outcome<Run>[] = [];
    const prepared: UncommittedPosting<Run>[] = [];
    try {
      for (const [index, posting] of group.postings.entries()) {
        const decided = this.#decideOne(orgState, posting, index);
        if (decided instanceof UncommittedPosting) {
          outcomes.push(decided.posted);
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

  #decideOne(orgState: OrgLedgerState, posting: Posting<Run>, index: number): Decided<Run> | KnownRun<Run> {
    const { externalId, contentDigest = null } = posting;
    const known = externalId === null ? undefined : this.#known.runs.get(orgState.orgId, externalId);
    if (known !== undefined) {
      const isComparable = contentDigest !== null && known.contentDigest !== null;
      return isComparable && contentDigest !== known.contentDigest
        ? { kind: 'external_id_conflict', index }
        : { kind: 'known', posting, runId: known.runId };
    }
    const decided =
      posting.permit === undefined
        ? this.#book(orgState, posting, index)
        : this.#bookPermitted(orgState, posting, posting.permit, index);
    if (externalId !== null && decided instanceof UncommittedPosting) {
      this.#known.runs.set(orgState.orgId, externalId, { runId: posting.runId, contentDigest });
    }
    return decided;
  }

  /** Those of a group that is refused: the groups behind it do not find them either. */
  #undo(prepared: readonly UncommittedPosting<Run>[]): void {
    rollBackAll(prepared);
    for (const { orgState, posted } of prepared) {
      if (posted.posting.externalId !== null) {
        this.#known.runs.delete(orgState.orgId, posted.posting.externalId);
      }
    }
  }

  /** What is refused further on, or undone, has not used its permit. */
  #bookPermitted(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    permit: string,
    index: number,
  ): Decided<Run> {
    const { permits } = this.#known;
    const left = permits.get(permit) ?? 0;
    if (left < 1) {
      return { kind: 'permit_spent', index };
    }
    const decided = this.#book(orgState, posting, index);
    if (decided instanceof UncommittedPosting) {
      permits.set(permit, left - 1);
      decided.alsoUndo(() => permits.set(permit, (permits.get(permit) ?? 0) + 1));
    }
    return decided;
  }

  #book(orgState: OrgLedgerState, posting: Posting<Run>, index: number): Decided<Run> {
    switch (posting.kind) {
      case 'open':
        return this.#open(orgState, posting, index);
      case 'adjust':
        return this.#adjust(orgState, posting);
      case 'record':
        return this.#accept(
          orgState,
          posting,
          emptyReservation,
          posting.atMs ?? this.#request.nowMs,
          backfill,
        );
      default:
        return posting.decisionId === null
          ? this.#charge(orgState, posting, index)
          : this.#settle(orgState, posting, posting.decisionId, index);
    }
  }

  #admit(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    index: number,
    preFlight: boolean,
  ): Reservation | PostingRejection {
    const charge = this.#chargeNow(posting);
    const { counters: windows, shares } = applicableCounters(
      orgState.limits,
      charge.scope,
      charge.atMs,
      'run',
    );
    const admission = admit(orgState.counters, {
      limits: orgState.limits,
      charge,
      windows,
      preFlight,
    });
    if (admission.kind === 'denied') {
      return { kind: 'denied', index, denial: admission.denial };
    }
    const taken = { shares, amounts: charge.amounts, packs: admission.packs };
    reserve(orgState.counters, taken);
    return taken;
  }

  #chargeNow({ scope, amounts, depth }: Posting): Charge {
    return { scope, amounts, depth, atMs: this.#request.nowMs };
  }

  /** Every charge is a hold followed by a settle, also this one. */
  #charge(orgState: OrgLedgerState, posting: Posting<Run>, index: number): Decided<Run> {
    const taken = this.#admit(orgState, posting, index, false);
    return 'index' in taken ? taken : this.#accept(orgState, posting, taken, this.#request.nowMs, noMarks);
  }

  #open(orgState: OrgLedgerState, posting: Posting<Run>, index: number): Decided<Run> {
    const taken = this.#admit(orgState, posting, index, true);
    if ('index' in taken) {
      return taken;
    }
    const { nowMs } = this.#request;
    const hold: Hold = {
      id: posting.decisionId ?? posting.runId,
      orgId: orgState.orgId,
      runId: posting.runId,
      surface: 'run',
      scope: posting.scope,
      amounts: posting.amounts,
      admittedAtMs: nowMs,
      expiresAtMs: nowMs + posting.holdSeconds * 1_000,
      shares: taken.shares,
      packs: taken.packs,
      priceVersion: posting.priceVersion,
      idempotency: null,
    };
    const open = orgState.keep(hold);
    const undo = () => {
      // Whoever has ended it meanwhile has given back what it took.
      if (orgState.holds.get(hold.id) === open) {
        orgState.holds.delete(hold.id);
        releaseReservation(orgState.counters, taken);
      }
    };
    return this.#done(orgState, posting, { scope: hold.scope, atMs: nowMs, hold, undo });
  }

  #settle(orgState: OrgLedgerState, posting: Posting<Run>, decisionId: string, index: number): Decided<Run> {
    const name = recordKey(orgState.orgId, decisionId);
    const open = orgState.holds.get(decisionId);
    const end = this.#known.ends.get(name);
    const hold = open?.hold ?? (end && restoredHold(end.body));
    const isComplete = posting.kind === 'complete';
    const settledBy = this.#ended.get(name) ?? end?.run_id ?? null;
    const ofAnother = hold !== undefined && hold.runId !== null && hold.runId !== posting.runId;
    if (settledBy !== null || ofAnother) {
      // Several runs may have gone on under one decision. Only one settles it; what the others cost is gone all the same.
      return isComplete && settledBy !== posting.runId
        ? this.#settleLate(orgState, posting, hold)
        : { kind: 'settled_already', index };
    }
    if (hold === undefined) {
      // The run itself was opened here: whatever became of its hold, what it cost is a fact.
      return isComplete ? this.#settleLate(orgState, posting, hold) : { kind: 'unknown_decision', index };
    }
    const field = contradiction(hold, posting);
    if (field !== undefined) {
      return { kind: 'contradiction', index, field };
    }
    return open === undefined
      ? this.#settleLate(orgState, posting, hold)
      : this.#settleOpen(orgState, posting, open);
  }

  #settleOpen(orgState: OrgLedgerState, posting: Posting<Run>, open: OpenHold): Decided<Run> {
    const { hold } = open;
    const name = recordKey(orgState.orgId, hold.id);
    const scope = settledScope(hold, posting);
    if (posting.kind === 'adopt') {
      return this.#done(orgState, posting, { scope, atMs: hold.admittedAtMs, hold });
    }
    const marks: Mark[] = posting.amounts.usd > hold.amounts.usd ? ['over_hold'] : [];
    if (hold.degraded === true) {
      marks.push('degraded');
    }
    const decided = this.#accept(orgState, { ...posting, scope }, hold, hold.admittedAtMs, marks, open);
    open.ending = true;
    this.#ended.set(name, posting.runId);
    decided.alsoUndo(() => {
      open.ending = false;
      this.#ended.delete(name);
    });
    return decided;
  }

  #settleLate(orgState: OrgLedgerState, posting: Posting<Run>, hold: Hold | undefined): Decided<Run> {
    const name = recordKey(orgState.orgId, posting.decisionId ?? '');
    if (posting.kind === 'adopt') {
      const scope = hold === undefined ? posting.scope : settledScope(hold, posting);
      const atMs = hold?.admittedAtMs ?? this.#request.nowMs;
      return this.#done(orgState, posting, { scope, atMs });
    }
    const isFirst = !this.#ended.has(name);
    if (isFirst) {
      this.#ended.set(name, posting.runId);
    }
    const scope = hold === undefined ? posting.scope : settledScope(hold, posting);
    const atMs = hold?.admittedAtMs ?? posting.atMs ?? this.#request.nowMs;
    const decided = this.#accept(orgState, { ...posting, scope }, emptyReservation, atMs, ['late']);
    if (isFirst) {
      decided.alsoUndo(() => this.#ended.delete(name));
    }
    return decided;
  }

  #adjust(orgState: OrgLedgerState, posting: Posting<Run>): Decided<Run> {
    const { scope, amounts } = posting;
    const atMs = posting.atMs ?? this.#request.nowMs;
    const name = recordKey(orgState.orgId, posting.runId);
    const paid = this.#known.paid.get(name) ?? nothingPaid;
    const { counters: windows } = applicableCounters(
      orgState.limits,
      scope,
      atMs,
      paid.recorded ? 'record' : 'run',
    );
    const charged = correct(orgState.counters, { ...paid, windows, amounts, atMs });
    this.#known.paid.set(name, { ...paid, ...paidWith(paid, charged) });
    const undo = () => void this.#known.paid.set(name, paid);
    return this.#done(orgState, posting, { scope, atMs, charged, undo });
  }

  #accept(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    reservation: Reservation,
    atMs: number,
    marks: readonly Mark[],
    ends: OpenHold | null = null,
  ): UncommittedPosting<Run> {
    const { scope, amounts } = posting;
    const surface = posting.kind === 'record' ? 'record' : 'run';
    const { counters: windows } = applicableCounters(orgState.limits, scope, atMs, surface);
    const charged = prepareSettlement(orgState.counters, {
      reservation,
      windows,
      amounts,
      atMs,
    });
    return this.#done(orgState, posting, { scope, atMs, marks, charged, ends });
  }

  #done(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    done: {
      readonly scope: Scope;
      readonly atMs: number;
      readonly marks?: readonly Mark[];
      readonly hold?: Hold;
      readonly charged?: PendingSettlement;
      readonly ends?: OpenHold | null;
      readonly undo?: () => void;
    },
  ): UncommittedPosting<Run> {
    const posted: Posted<Run> = {
      kind: 'posted',
      orgId: orgState.orgId,
      posting,
      scope: done.scope,
      chargedAtMs: done.atMs,
      postedAtMs: this.#request.nowMs,
      marks: done.marks ?? noMarks,
      hold: done.hold ?? null,
      charged: done.charged ?? null,
    };
    return new UncommittedPosting(orgState, posted, done.ends ?? null, done.undo);
  }
}

const noMarks: readonly Mark[] = [];
const backfill: readonly Mark[] = ['backfill'];
