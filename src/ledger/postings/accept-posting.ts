/** Prepares the settlement of an accepted posting. */
import { applicableCounters, type Reservation } from '../../kernel/admission.ts';
import type { LimitUse } from '../../kernel/limit-use.ts';
import type { Scope } from '../../kernel/limits.ts';
import { type PendingSettlement, prepareSettlement } from '../../kernel/settlement.ts';
import type { Hold } from '../holds/hold.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Mark, Posted, Posting } from '../posting.ts';
import { surfaceOf } from './effective-scope.ts';
import { UncommittedPosting } from './uncommitted-posting.ts';

/** A charge that uses a reservation, which may be empty. */
export interface AcceptedCharge extends Pick<PostingEffect, 'ends' | 'settledUnheld' | 'reversal'> {
  readonly reservation: Reservation;
  readonly atMs: number;
  readonly marks: readonly Mark[];
}

export function acceptPosting<Run>(
  orgState: OrgLedgerState,
  posting: Posting<Run>,
  nowMs: number,
  { reservation, atMs, marks, ends, settledUnheld, reversal }: AcceptedCharge,
): UncommittedPosting<Run> {
  const { scope, amounts } = posting;
  const { limits } = orgState;
  const { counters: windows } = applicableCounters(limits, scope, atMs, surfaceOf(posting), nowMs);
  const charged = prepareSettlement(orgState.counters, { reservation, windows, amounts, atMs });
  return uncommittedPosting(orgState, posting, nowMs, {
    scope,
    atMs,
    charged,
    marks,
    ends,
    settledUnheld,
    reversal,
  });
}

export interface PostingEffect {
  readonly scope: Scope;
  readonly atMs: number;
  readonly marks?: readonly Mark[];
  readonly hold?: Hold;
  readonly remainingNanos?: bigint | undefined;
  readonly fullest?: LimitUse | undefined;
  readonly charged?: PendingSettlement;
  readonly ends?: OpenHold | undefined;
  readonly settledUnheld?: Hold | undefined;
  /** The posting that reverses an earlier charge. It is posted first. */
  readonly reversal?: UncommittedPosting<unknown> | undefined;
  readonly undo?: () => void;
}

export function uncommittedPosting<Run>(
  orgState: OrgLedgerState,
  posting: Posting<Run>,
  nowMs: number,
  effect: PostingEffect,
): UncommittedPosting<Run> {
  const posted: Posted<Run> = {
    kind: 'posted',
    orgId: orgState.orgId,
    posting,
    scope: effect.scope,
    chargedAtMs: effect.atMs,
    postedAtMs: nowMs,
    marks: effect.marks ?? noMarks,
    hold: effect.hold ?? null,
    remainingNanos: effect.remainingNanos,
    fullest: effect.fullest,
    charged: effect.charged ?? null,
    settledUnheld: effect.settledUnheld ?? null,
  };
  const reversal = (effect.reversal ?? null) as UncommittedPosting<Run> | null;
  return new UncommittedPosting(orgState, posted, effect.ends ?? null, effect.undo, reversal);
}

const noMarks: readonly Mark[] = [];
