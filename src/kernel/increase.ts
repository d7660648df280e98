/**
 * Increases of a reservation: more is reserved in every applicable limit, or nothing changes. The windows are those of the
 * reservation, because a charge belongs to the time of its admission.
 */
import {
  type ApplicableCounters,
  admit,
  type Counter,
  type Counters,
  type Reservation,
  releaseDebits,
  reserveDebits,
} from './admission.ts';
import { type Debit, merged } from './credits.ts';
import type { Denial } from './denial.ts';
import { type Amounts, type OrgLimits, type Scope, units } from './limits.ts';

export interface IncreaseRequest {
  readonly limits: OrgLimits;
  readonly scope: Scope;
  readonly reservation: Reservation;
  /** The amounts to add. */
  readonly by: Amounts;
  /** The time of the reservation. */
  readonly atMs: number;
  /** The counters that apply to that time by the current limits. Limits may have been created or removed since the reservation. */
  readonly applicable: ApplicableCounters;
}

/** An allowed increase. */
export interface Increase {
  readonly by: Amounts;
  /** The debits from credit packs in addition to those of the reservation. */
  readonly packs: readonly Debit[];
  readonly reservation: Reservation;
}

export type IncreaseAdmission =
  | ({ readonly kind: 'allowed' } & Increase)
  | { readonly kind: 'denied'; readonly denial: Denial };

/**
 * Checks all limits for an increase and reserves nothing. A limit in which the reservation has no share yet is checked for
 * the whole new amount. Every applicable counter must exist.
 */
export function admitIncrease(counters: Counters, request: IncreaseRequest): IncreaseAdmission {
  const { limits, scope, reservation, by, atMs, applicable } = request;
  const amounts = sum(reservation.amounts, by, 1n);
  const admission = admit(counters, {
    limits,
    charge: { scope, amounts, depth: null, atMs },
    windows: applicable.counters,
    preFlight: true,
    reserved: reservation,
  });
  if (admission.kind === 'denied') {
    return admission;
  }
  const { packs } = admission;
  const added = applicable.shares.filter(({ key }) => !reservation.shares.some((share) => share.key === key));
  return {
    kind: 'allowed',
    by,
    packs,
    reservation: {
      // Keeps the same list if possible, because reservations share it.
      shares: added.length === 0 ? reservation.shares : [...reservation.shares, ...added],
      amounts,
      packs: packs.length === 0 ? reservation.packs : merged([...reservation.packs, ...packs]),
    },
  };
}

/** Reserves an allowed increase. `before` is the reservation without the increase. */
export function reserveIncrease(counters: Counters, before: Reservation, increase: Increase): void {
  const { by, packs, reservation } = increase;
  for (const [index, { key, unit }] of reservation.shares.entries()) {
    addHeld(counters.get(key), index < before.shares.length ? by[unit] : reservation.amounts[unit]);
  }
  reserveDebits(counters, packs);
}

/**
 * Undoes an increase and returns the reservation without it. Other changes of the reservation since then are kept, and so
 * are its shares: they now reserve the smaller amounts.
 */
export function undoIncrease(counters: Counters, current: Reservation, { by, packs }: Increase): Reservation {
  for (const { key, unit } of current.shares) {
    addHeld(counters.get(key), -by[unit]);
  }
  releaseDebits(counters, packs);
  const returned = packs.map(({ key, amount }) => ({ key, amount: -amount }));
  return {
    shares: current.shares,
    amounts: sum(current.amounts, by, -1n),
    packs: merged([...current.packs, ...returned]).filter(({ amount }) => amount > 0n),
  };
}

/** Ignores counters that were deleted with their limit. */
function addHeld(counter: Counter | undefined, amount: bigint): void {
  if (counter !== undefined) {
    counter.held += amount;
  }
}

function sum(amounts: Amounts, others: Amounts, sign: bigint): Amounts {
  return Object.fromEntries(units.map((unit) => [unit, amounts[unit] + sign * others[unit]])) as Amounts;
}
