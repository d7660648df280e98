/**
 * Decides postings one by one, synchronously. Accepting a posting reserves its amounts in the counters and prepares its settlement;
 * the caller commits or rolls back.
 */
import { applicableCounters } from '../../kernel/admission.ts';
import { withRefund } from '../../kernel/reversal.ts';
import { correct, emptyReservation, paidWith } from '../../kernel/settlement.ts';
import { type Hold, ownerOf, restoredHold } from '../holds/hold.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { GroupResult, Mark, Outcome, Posting, PostingGroup, PostingRejection } from '../posting.ts';
import {
  type AcceptedCharge,
  acceptPosting,
  type PostingEffect,
  uncommittedPosting,
} from './accept-posting.ts';
import { contradiction, settledScope } from './effective-scope.ts';
import {
  adjustedUnsettled,
  type ExistingRecords,
  nothingPaid,
  recordKey,
  type UnsettledRun,
} from './existing-records.ts';
import { admitPosting, openHold } from './open-posting.ts';
import { reversalOf } from './reversal-posting.ts';
import { costMarks, withAmountsOf, withKnownCost, withRunId } from './settled-posting.ts';
import { rollBackAll, UncommittedPosting } from './uncommitted-posting.ts';
import { unsettledRunOf } from './unsettled-runs.ts';

export interface PostingDeciderRequest {
  readonly orgStateOf: (orgId: string) => OrgLedgerState;
  readonly nowMs: number;
}

type DecidedPosting<Run> = UncommittedPosting<Run> | PostingRejection;
type ExistingRunOutcome<Run> = Extract<Outcome<Run>, { kind: 'existing' }>;

/** Decides groups in order. Each group sees the counters as the previous groups left them. */
export class PostingDecider<Run> {
  readonly #request: PostingDeciderRequest;
  readonly #existing: ExistingRecords;
  /** Runs that settled a hold in this batch, on time or late, by hold. */
  readonly #ended = new Map<string, string>();

  constructor(request: PostingDeciderRequest, existing: ExistingRecords) {
    this.#request = request;
    this.#existing = existing;
  }

  decide(group: PostingGroup<Run>): { result: GroupResult<Run>; uncommitted: UncommittedPosting<Run>[] } {
    const orgState = this.#request.orgStateOf(group.orgId);
    const outcomes: Outcome<Run>[] = [];
    const uncommitted: UncommittedPosting<Run>[] = [];
    try {
      for (const [index, posting] of group.postings.entries()) {
        const decided = this.#decideOne(orgState, posting, index);
        if (decided instanceof UncommittedPosting) {
          outcomes.push(decided.posted);
          uncommitted.push(...decided.withReversal());
        } else if (decided.kind === 'existing') {
          outcomes.push(decided);
        } else if (group.skipRejected === true) {
          outcomes.push({ kind: 'rejected', posting, rejection: decided });
        } else {
          this.#undo(uncommitted);
          return { result: decided, uncommitted: [] };
        }
      }
    } catch (error) {
      this.#undo(uncommitted);
      throw error;
    }
    return { result: { kind: 'done', outcomes }, uncommitted };
  }

  #decideOne(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    index: number,
  ): DecidedPosting<Run> | ExistingRunOutcome<Run> {
    const { externalId, contentDigest = null } = posting;
    const existing = externalId === null ? undefined : this.#existing.runs.get(orgState.orgId, externalId);
    if (existing !== undefined) {
      const isComparable = contentDigest !== null && existing.contentDigest !== null;
      return isComparable && contentDigest !== existing.contentDigest
        ? { kind: 'external_id_conflict', index }
        : { kind: 'existing', posting, runId: existing.runId };
    }
    const decided =
      posting.permit === undefined
        ? this.#post(orgState, posting, index)
        : this.#postPermitted(orgState, posting, posting.permit, index);
    if (externalId !== null && decided instanceof UncommittedPosting) {
      const { runId } = decided.posted.posting;
      this.#existing.runs.set(orgState.orgId, externalId, { runId, contentDigest });
    }
    return decided;
  }

  /** Rolls back the postings of a rejected group, so that later groups do not find them. */
  #undo(uncommitted: readonly UncommittedPosting<Run>[]): void {
    rollBackAll(uncommitted);
    for (const { orgState, posted } of uncommitted) {
      if (posted.posting.externalId !== null) {
        this.#existing.runs.delete(orgState.orgId, posted.posting.externalId);
      }
    }
  }

  /** Uses the permit only if the posting is accepted. A rollback gives the use back. */
  #postPermitted(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    permit: string,
    index: number,
  ): DecidedPosting<Run> {
    const { permits } = this.#existing;
    const left = permits.get(permit) ?? 0;
    if (left < 1) {
      return { kind: 'permit_spent', index };
    }
    const decided = this.#post(orgState, posting, index);
    if (decided instanceof UncommittedPosting) {
      permits.set(permit, left - 1);
      decided.alsoUndo(() => permits.set(permit, (permits.get(permit) ?? 0) + 1));
    }
    return decided;
  }

  #post(orgState: OrgLedgerState, posting: Posting<Run>, index: number): DecidedPosting<Run> {
    switch (posting.kind) {
      case 'open':
        return this.#open(orgState, posting, index);
      case 'adjust':
        return this.#adjust(orgState, posting);
      case 'record':
        return this.#accept(orgState, posting, {
          reservation: emptyReservation,
          atMs: posting.atMs ?? this.#request.nowMs,
          marks: ['backfill', ...costMarks(posting)],
        });
      case 'expire':
        return this.#expire(orgState, posting, index);
      default:
        return posting.decisionId === null
          ? this.#charge(orgState, posting, index)
          : this.#settle(orgState, posting, posting.decisionId, index);
    }
  }

  /** Charges a finished run without a hold: admits it with a reservation and settles that. */
  #charge(orgState: OrgLedgerState, posting: Posting<Run>, index: number): DecidedPosting<Run> {
    const { nowMs } = this.#request;
    const admitted = admitPosting(orgState, posting, { nowMs, preFlight: false });
    return admitted.kind === 'denied'
      ? { ...admitted, index }
      : this.#accept(orgState, posting, {
          reservation: admitted.reservation,
          atMs: nowMs,
          marks: costMarks(posting),
        });
  }

  #open(orgState: OrgLedgerState, posting: Posting<Run>, index: number): DecidedPosting<Run> {
    const opened = openHold(orgState, posting, this.#request.nowMs);
    return opened.kind === 'denied' ? { ...opened, index } : this.#applied(orgState, posting, opened.effect);
  }

  #settle(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    decisionId: string,
    index: number,
  ): DecidedPosting<Run> {
    const name = recordKey(orgState.orgId, decisionId);
    const open = orgState.holds.get(decisionId);
    const end = this.#existing.ends.get(name);
    const hold = open?.hold ?? (end && restoredHold(end.body));
    const isComplete = posting.kind === 'complete';
    const unsettled =
      open === undefined ? unsettledRunOf(this.#existing, orgState.orgId, posting) : undefined;
    const settledBy = this.#ended.get(name) ?? (unsettled === undefined ? end?.run_id : undefined) ?? null;
    const owner = hold === undefined ? null : ownerOf(hold);
    const ownedByOtherRun = owner !== null && owner !== posting.runId;
    if (settledBy !== null || ownedByOtherRun) {
      // Several runs may have adopted one decision. Only one of them settles it; the others are posted as late when they complete.
      // A new run that names the decision is rejected.
      return isComplete && settledBy !== posting.runId
        ? this.#settleLate(orgState, posting, hold)
        : { kind: 'settled_already', index };
    }
    if (unsettled !== undefined && (!isComplete || unsettled.runId === posting.runId)) {
      return this.#settleUnsettled(orgState, posting, unsettled as UnsettledRun<Run>, hold, index);
    }
    if (hold === undefined && posting.failOpenAtMs !== undefined) {
      return this.#settleUnheld(orgState, posting, decisionId, posting.failOpenAtMs);
    }
    if (hold === undefined) {
      // The run exists, so its cost is posted even if its hold is missing.
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

  #settleOpen(orgState: OrgLedgerState, given: Posting<Run>, open: OpenHold): DecidedPosting<Run> {
    const { hold } = open;
    const posting = withKnownCost(given, hold);
    const scope = settledScope(hold, posting);
    if (posting.kind === 'adopt') {
      return this.#applied(orgState, posting, { scope, atMs: hold.admittedAtMs, hold });
    }
    const marks = costMarks(posting);
    if (posting.amounts.usd > hold.amounts.usd) {
      marks.push('over_hold');
    }
    return this.#endHold(orgState, { ...posting, scope }, open, marks);
  }

  /** Posts a hold that expired without a settlement: its amount, and what its call may have cost beyond it. */
  #expire(orgState: OrgLedgerState, posting: Posting<Run>, index: number): DecidedPosting<Run> {
    const open = orgState.holds.get(posting.decisionId ?? '');
    return open === undefined || open.ending
      ? { kind: 'unknown_decision', index }
      : this.#endHold(
          orgState,
          posting,
          open,
          posting.amounts.usd > open.hold.amounts.usd ? ['unsettled', 'over_hold'] : ['unsettled'],
        );
  }

  /** Charges a posting with the reservation of its hold, and ends the hold. */
  #endHold(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    open: OpenHold,
    marks: readonly Mark[],
  ): UncommittedPosting<Run> {
    const { hold } = open;
    const name = recordKey(orgState.orgId, hold.id);
    const decided = this.#accept(orgState, posting, {
      reservation: hold,
      atMs: hold.admittedAtMs,
      marks: hold.degraded === true ? [...marks, 'degraded'] : marks,
      ends: open,
    });
    open.ending = true;
    this.#ended.set(name, posting.runId);
    decided.alsoUndo(() => {
      open.ending = false;
      this.#ended.delete(name);
    });
    return decided;
  }

  /**
   * Settles a hold that expired and was posted at the held amount: reverses that charge and posts the actual one, as if the first
   * had never been made. A run that only starts now under the expired hold takes over the charge unchanged.
   */
  #settleUnsettled(
    orgState: OrgLedgerState,
    given: Posting<Run>,
    unsettled: UnsettledRun<Run>,
    hold: Hold | undefined,
    index: number,
  ): DecidedPosting<Run> {
    const field = hold && contradiction(hold, given);
    if (field !== undefined) {
      return { kind: 'contradiction', index, field };
    }
    const isStarting = given.kind === 'adopt';
    const renamed = withRunId(given, unsettled.runId);
    const posting: Posting<Run> = {
      ...(isStarting ? withAmountsOf(renamed, unsettled) : withKnownCost(renamed, hold ?? unsettled)),
      kind: given.kind === 'complete' ? 'complete' : 'resettle',
      scope: settledScope(hold, renamed),
    };
    const decided = withRefund(orgState.counters, unsettled.countedBurned ?? unsettled.paid.burned, () =>
      this.#accept(orgState, posting, {
        reservation: emptyReservation,
        atMs: unsettled.atMs,
        marks: isStarting ? ['unsettled'] : [...costMarks(posting), 'late'],
        reversal: reversalOf(orgState, unsettled, this.#request.nowMs),
      }),
    );
    this.#replacePaid(orgState, decided);
    const name = recordKey(orgState.orgId, posting.decisionId ?? '');
    this.#ended.set(name, posting.runId);
    decided.alsoUndo(() => this.#ended.delete(name));
    return decided;
  }

  /**
   * Records what the new charge of a run has paid, so that later corrections in the batch give that back instead of the reversed
   * charge.
   */
  #replacePaid(orgState: OrgLedgerState, decided: UncommittedPosting<Run>): void {
    const { posting, charged } = decided.posted;
    const name = recordKey(orgState.orgId, posting.runId);
    const before = this.#existing.paid.get(name);
    if (before !== undefined && charged !== null) {
      const { burned, uncovered, prepaid } = charged;
      this.#existing.paid.set(name, { ...before, burned, uncovered, prepaid });
      decided.alsoUndo(() => this.#existing.paid.set(name, before));
    }
  }

  #settleLate(orgState: OrgLedgerState, given: Posting<Run>, hold: Hold | undefined): DecidedPosting<Run> {
    const posting = withKnownCost(given, hold);
    const name = recordKey(orgState.orgId, posting.decisionId ?? '');
    if (posting.kind === 'adopt') {
      const scope = settledScope(hold, posting);
      const atMs = hold?.admittedAtMs ?? this.#request.nowMs;
      return this.#applied(orgState, posting, { scope, atMs });
    }
    const isFirst = !this.#ended.has(name);
    if (isFirst) {
      this.#ended.set(name, posting.runId);
    }
    const scope = settledScope(hold, posting);
    const atMs = hold?.admittedAtMs ?? posting.atMs ?? this.#request.nowMs;
    const decided = this.#accept(
      orgState,
      { ...posting, scope },
      { reservation: emptyReservation, atMs, marks: [...costMarks(posting), 'late'] },
    );
    if (isFirst) {
      decided.alsoUndo(() => this.#ended.delete(name));
    }
    return decided;
  }

  /** Posts the run of a fail-open decision that is not in the ledger: not imported yet, or lost. */
  #settleUnheld(
    orgState: OrgLedgerState,
    posting: Posting<Run>,
    decisionId: string,
    atMs: number,
  ): DecidedPosting<Run> {
    const scope = settledScope(undefined, posting);
    if (posting.kind === 'adopt') {
      return this.#applied(orgState, posting, { scope, atMs });
    }
    const name = recordKey(orgState.orgId, decisionId);
    const settledUnheld: Hold = {
      ...emptyReservation,
      id: decisionId,
      orgId: orgState.orgId,
      runId: null,
      surface: 'edge',
      scope,
      admittedAtMs: atMs,
      expiresAtMs: atMs,
      priceVersion: posting.priceVersion,
      idempotency: null,
      degraded: true,
    };
    const marks = [...costMarks(posting), ...unheld];
    const reservation = emptyReservation;
    const settled = { ...posting, scope };
    const decided = this.#accept(orgState, settled, { reservation, atMs, marks, settledUnheld });
    this.#ended.set(name, posting.runId);
    decided.alsoUndo(() => this.#ended.delete(name));
    return decided;
  }

  #adjust(orgState: OrgLedgerState, posting: Posting<Run>): DecidedPosting<Run> {
    const { scope, amounts } = posting;
    const atMs = posting.atMs ?? this.#request.nowMs;
    const name = recordKey(orgState.orgId, posting.runId);
    const paid = this.#existing.paid.get(name) ?? nothingPaid;
    const { counters: windows } = applicableCounters(
      orgState.limits,
      scope,
      atMs,
      paid.recorded ? 'record' : 'charge',
      this.#request.nowMs,
    );
    const charged = correct(orgState.counters, { ...paid, windows, amounts, atMs });
    this.#existing.paid.set(name, { ...paid, ...paidWith(paid, charged) });
    const unsettled = this.#existing.unsettled.get(name);
    if (unsettled !== undefined) {
      // A late settlement later in the batch must reverse this correction as well.
      this.#existing.unsettled.set(name, adjustedUnsettled(unsettled, charged, posting.parts));
    }
    const undo = () => {
      this.#existing.paid.set(name, paid);
      if (unsettled !== undefined) {
        this.#existing.unsettled.set(name, unsettled);
      }
    };
    return this.#applied(orgState, posting, { scope, atMs, charged, undo });
  }

  #accept(orgState: OrgLedgerState, posting: Posting<Run>, charge: AcceptedCharge): UncommittedPosting<Run> {
    return acceptPosting(orgState, posting, this.#request.nowMs, charge);
  }

  #applied(orgState: OrgLedgerState, posting: Posting<Run>, effect: PostingEffect): UncommittedPosting<Run> {
    return uncommittedPosting(orgState, posting, this.#request.nowMs, effect);
  }
}

const unheld: readonly Mark[] = ['late', 'degraded'];
