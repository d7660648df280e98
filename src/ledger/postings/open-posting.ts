/** Admits postings that need the admission check, and opens the hold of a run in progress. */
import {
  admit,
  applicableCounters,
  type Charge,
  type Counter,
  type LimitWindow,
  type Reservation,
  releaseReservation,
  reserve,
} from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import { admitUpTo } from '../../kernel/fit.ts';
import { fullestLimit } from '../../kernel/limit-use.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';
import { remainingOf, smallestRemaining } from '../holds/take-hold.ts';
import type { Posting } from '../posting.ts';
import type { PostingEffect } from './accept-posting.ts';
import { surfaceOf } from './effective-scope.ts';
import { openedHold } from './opened-hold.ts';

type DeniedPosting = { readonly kind: 'denied'; readonly denial: Denial };

export interface AdmittedPosting {
  readonly kind: 'admitted';
  readonly reservation: Reservation;
  readonly windows: readonly LimitWindow[];
}

/** Checks a posting against all limits and reserves its amounts; with `fit`, the largest amounts that the limits allow. */
export function admitPosting(
  { counters, limits }: OrgLedgerState,
  posting: Posting,
  { nowMs, preFlight }: { readonly nowMs: number; readonly preFlight: boolean },
): AdmittedPosting | DeniedPosting {
  const { scope, amounts, depth, fit } = posting;
  const charge: Charge = { scope, amounts, depth, atMs: nowMs };
  const { counters: windows, shares } = applicableCounters(limits, scope, nowMs, surfaceOf(posting));
  const request = { limits, charge, windows, preFlight };
  const fitted = fit === undefined ? undefined : admitUpTo(counters, request, fit);
  const admission = fitted ?? admit(counters, request);
  if (admission.kind === 'denied') {
    return { kind: 'denied', denial: admission.denial };
  }
  const reservation: Reservation = {
    shares,
    amounts: fitted?.kind === 'allowed' ? fitted.amounts : amounts,
    packs: admission.packs,
  };
  reserve(counters, reservation);
  return { kind: 'admitted', reservation, windows };
}

export interface OpenedHold {
  readonly kind: 'opened';
  readonly effect: PostingEffect;
}

/** Takes the hold of a run in progress, or returns the denial. */
export function openHold(
  orgState: OrgLedgerState,
  posting: Posting,
  nowMs: number,
): OpenedHold | DeniedPosting {
  const admitted = admitPosting(orgState, posting, { nowMs, preFlight: true });
  if (admitted.kind === 'denied') {
    return admitted;
  }
  const { reservation, windows } = admitted;
  const hold = openedHold(orgState.orgId, posting, reservation, nowMs);
  const open = orgState.addHold(hold);
  const undo = () => {
    // If the hold has ended since, its reservation was released already.
    if (orgState.holds.get(hold.id) === open) {
      orgState.holds.delete(hold.id);
      // Uses the current hold, because counters may have been added to it since.
      releaseReservation(orgState.counters, open.hold);
    }
  };
  const remainingNanos = smallestRemaining(windows, ({ key, limit }) =>
    remainingOf(limit, orgState.counters.get(key) as Counter),
  );
  const fullest = fullestLimit(orgState.counters, windows);
  return { kind: 'opened', effect: { scope: hold.scope, atMs: nowMs, hold, remainingNanos, fullest, undo } };
}
