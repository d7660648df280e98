/**
 * Increases of a reservation: more is reserved in every applicable limit, or nothing changes. The windows are those of the
 * reservation, because a charge belongs to the time of its admission.
 */
import {
  type ApplicableCounters,
  admit,
  type Counter,
  type Counters,
  changeGrowth,
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
  /** The growth of the increased reservation. Left out if it stays the same. */
  readonly growth?: Amounts | undefined;
  /** The time of the reservation. */
  readonly atMs: number;
  /** The counters that apply to that time by the current limits. Limits may have been created or removed since the reservation. */
  readonly applicable: ApplicableCounters;
}

/** An allowed increase. */
export interface Increase {
  readonly by: Amounts;
  /** The growth that the increase replaces; left out if it keeps the growth. */
  readonly replaced?: { readonly growth: Amounts | undefined };
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
  const { limits, scope, reservation, by, growth = reservation.growth, atMs, applicable } = request;
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
    ...(growth !== reservation.growth && { replaced: { growth: reservation.growth } }),
    packs,
    reservation: {
      // Keeps the same list if possible, because reservations share it.
      shares: added.length === 0 ? reservation.shares : [...reservation.shares, ...added],
      amounts,
      packs: packs.length === 0 ? reservation.packs : merged([...reservation.packs, ...packs]),
      ...(growth !== undefined && { growth }),
    },
  };
}

/** Reserves an allowed increase. `before` is the reservation without the increase. */
export function reserveIncrease(counters: Counters, before: Reservation, increase: Increase): void {
  const { by, packs, reservation } = increase;
  const growthBy = difference(reservation.growth, before.growth);
  for (const [index, { key, unit }] of reservation.shares.entries()) {
    if (index < before.shares.length) {
      addHeld(counters.get(key), by[unit], growthBy[unit]);
    } else {
      addHeld(counters.get(key), reservation.amounts[unit], reservation.growth?.[unit] ?? 0n);
    }
  }
  reserveDebits(counters, packs);
}

/**
 * Undoes an increase and returns the reservation without it. Other changes of the reservation since then are kept, and so
 * are its shares: they now reserve the smaller amounts. A growth that a later increase has set is kept too.
 */
export function undoIncrease(
  counters: Counters,
  current: Reservation,
  { by, replaced, packs, reservation }: Increase,
): Reservation {
  const isLast = replaced !== undefined && current.growth === reservation.growth;
  const growth = isLast ? replaced.growth : current.growth;
  const growthBy = difference(growth, current.growth);
  for (const { key, unit } of current.shares) {
    addHeld(counters.get(key), -by[unit], growthBy[unit]);
  }
  releaseDebits(counters, packs);
  const returned = packs.map(({ key, amount }) => ({ key, amount: -amount }));
  return {
    shares: current.shares,
    amounts: sum(current.amounts, by, -1n),
    packs: merged([...current.packs, ...returned]).filter(({ amount }) => amount > 0n),
    ...(growth !== undefined && { growth }),
  };
}

/** Ignores counters that were deleted with their limit. */
function addHeld(counter: Counter | undefined, amount: bigint, growth: bigint): void {
  if (counter !== undefined) {
    counter.held += amount;
    changeGrowth(counter, growth);
  }
}

const nothing: Amounts = { usd: 0n, tokens: 0n, requests: 0n };

function difference(growth: Amounts | undefined, before: Amounts | undefined): Amounts {
  return growth === before ? nothing : sum(growth ?? nothing, before ?? nothing, -1n);
}

function sum(amounts: Amounts, others: Amounts, sign: bigint): Amounts {
  return Object.fromEntries(units.map((unit) => [unit, amounts[unit] + sign * others[unit]])) as Amounts;
}
