/**
 * Fits a charge into the limits: finds the largest charge that all of them allow. The search calls `admit`, so there is
 * one definition of admission. It is exact, because a smaller charge passes wherever a larger one does.
 */
import { type Admission, type AdmissionRequest, admit, type Counters } from './admission.ts';
import type { Amounts } from './limits.ts';

/** A charge that may be reduced: its amounts follow from a number of units, such as output tokens. */
export interface Fit {
  readonly atLeast: bigint;
  /** Not below `atLeast`. */
  readonly atMost: bigint;
  /** Returns the amounts of this many units. More units never have smaller amounts. */
  amountsOf(units: bigint): Amounts;
}

export type FittedAdmission =
  | (Extract<Admission, { kind: 'allowed' }> & { readonly amounts: Amounts })
  | Extract<Admission, { kind: 'denied' }>;

/**
 * Admits the most units that all limits allow. If even the smallest number of units is denied, returns its denial. Ignores the
 * amounts of the charge in the request. Reserves nothing; every counter must exist.
 */
export function admitUpTo(counters: Counters, request: AdmissionRequest, fit: Fit): FittedAdmission {
  const admitUnits = (units: bigint): FittedAdmission => {
    const amounts = fit.amountsOf(units);
    const admission = admit(counters, { ...request, charge: { ...request.charge, amounts } });
    return admission.kind === 'denied' ? admission : { ...admission, amounts };
  };
  const most = admitUnits(fit.atMost);
  if (most.kind === 'allowed' || fit.atLeast === fit.atMost) {
    return most;
  }
  const least = admitUnits(fit.atLeast);
  return least.kind === 'denied'
    ? least
    : admitUnits(
        largestFitting(fit.atLeast, fit.atMost - 1n, (units) => admitUnits(units).kind === 'allowed'),
      );
}

/**
 * Returns the largest number in the range that fits, by binary search; `atLeast` if none does. Every number below one that
 * fits must fit too.
 */
export function largestFitting(atLeast: bigint, atMost: bigint, fits: (units: bigint) => boolean): bigint {
  let fitting = atLeast;
  let unfitting = atMost + 1n;
  while (unfitting - fitting > 1n) {
    const middle = (fitting + unfitting) / 2n;
    if (fits(middle)) {
      fitting = middle;
    } else {
      unfitting = middle;
    }
  }
  return fitting;
}
