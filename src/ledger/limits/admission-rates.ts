/**
 * Rate limits that depend on the content of a request: its model, customer, tokens or cost. They are part of the
 * admission check.
 */
import { type ApiError, apiErrorWithDetails, apiErrorWithStatus } from '../../contract/api-error.ts';
import { inUnit } from '../../kernel/denial.ts';
import { type Fit, largestFitting } from '../../kernel/fit.ts';
import {
  type Amounts,
  applicable,
  type Limit,
  type OrgLimits,
  type Scope,
  type Unit,
  WILDCARD,
} from '../../kernel/limits.ts';
import {
  allowed,
  type RateDebit,
  type RateLimiter,
  type RateVerdict,
} from '../../platform/rates/rate-limiter.ts';
import type { LimitEvents } from './limit-events.ts';
import { isRequestRate } from './request-rates.ts';

export interface RatedCharge {
  readonly scope: Scope;
  readonly amounts: Amounts;
}

/** The debit of a request from one rate limit, for all of its runs that the rate limit applies to. */
interface DebitOfLimit {
  readonly limit: Limit;
  debit: RateDebit;
  /** The debited charges by index, with the running sum after each. */
  readonly parts: { readonly index: number; readonly sum: bigint }[];
}

/** The debits of a request. They are given back if the request is denied later. */
export interface RateReservation {
  readonly debits: readonly RateDebit[];
  /** One for each of `debits`, in the same order. */
  readonly debitsOfLimits: readonly DebitOfLimit[];
  readonly verdict: RateVerdict | Promise<RateVerdict>;
}

/** Debits the rate limits for all charges of a request, or for none. Returns undefined if no rate limit applies. */
export function takeAdmissionRates(
  limiter: RateLimiter,
  limits: OrgLimits,
  charges: readonly RatedCharge[],
  nowMs: number,
): RateReservation | undefined {
  if (!limits.hasRates) {
    return undefined;
  }
  const byKey = new Map<string, DebitOfLimit>();
  for (const [index, { scope, amounts }] of charges.entries()) {
    for (const limit of applicable(limits, scope)) {
      // Skips charges without an amount: increasing a hold is not a request.
      if (amounts[limit.unit] > 0n && isAdmissionRate(limit) && isInForce(limit, nowMs)) {
        const debit = debitOf(limits.orgId, limit, scope, amounts);
        const ofLimit = byKey.get(debit.key) ?? { limit, debit: { ...debit, amount: 0n }, parts: [] };
        const sum = ofLimit.debit.amount + debit.amount;
        ofLimit.debit = { ...debit, amount: sum };
        ofLimit.parts.push({ index, sum });
        byKey.set(debit.key, ofLimit);
      }
    }
  }
  const debitsOfLimits = [...byKey.values()];
  const debits = debitsOfLimits.map(({ debit }) => debit);
  return debits.length === 0 ? undefined : { debits, debitsOfLimits, verdict: limiter.take(debits, nowMs) };
}

/** The result of debiting rates for as many units of a charge as the rates allow. */
export interface FittedRates {
  /** Undefined if no rate limit applies. */
  readonly reservation: RateReservation | undefined;
  readonly verdict: RateVerdict;
  /** The number of units that were debited. */
  readonly units: bigint;
}

/** Number of attempts before the smallest number of units is tried: other requests may take what was available. */
const fitAttemptsMax = 4;

/**
 * Debits the rate limits for the largest number of units of a charge that they allow now. Each attempt takes all debits or none. A
 * denied attempt returns the available amount, from which the next attempt follows. The last attempt takes the smallest number of
 * units, so that a denial is that of the minimum.
 */
export async function takeAdmissionRatesUpTo(
  limiter: RateLimiter,
  limits: OrgLimits,
  scope: Scope,
  { atLeast, atMost, amountsOf }: Fit,
  nowMs: number,
): Promise<FittedRates> {
  const rates = limits.hasRates
    ? applicable(limits, scope).filter((limit) => isAdmissionRate(limit) && isInForce(limit, nowMs))
    : [];
  const mostWithin = (most: bigint, bounds: readonly { unit: Unit; amount: bigint }[]): bigint =>
    largestFitting(atLeast, most, (count) => {
      const amounts = amountsOf(count);
      return bounds.every(({ unit, amount }) => amounts[unit] <= amount);
    });
  let units = mostWithin(
    atMost,
    rates.map(({ unit, burst }) => ({ unit, amount: burst })),
  );
  for (let attempt = 1; ; attempt += 1) {
    const reservation = takeAdmissionRates(limiter, limits, [{ scope, amounts: amountsOf(units) }], nowMs);
    const verdict = reservation === undefined ? allowed : await reservation.verdict;
    if (verdict.allowed || reservation === undefined || units === atLeast) {
      return { reservation, verdict, units };
    }
    const available = verdict.available.flatMap(({ index, amount }) => {
      const debited = reservation.debitsOfLimits[index];
      return debited === undefined ? [] : [{ unit: debited.limit.unit, amount }];
    });
    units = attempt < fitAttemptsMax ? mostWithin(units - 1n, available) : atLeast;
  }
}

/** Gives back the debit for units that were not held. */
export function giveBackUnused(
  limiter: RateLimiter,
  { reservation, units }: FittedRates,
  { amountsOf }: Fit,
  held: Amounts,
  nowMs: number,
): void {
  if (reservation === undefined) {
    return;
  }
  const debited = amountsOf(units);
  const unused = reservation.debitsOfLimits.map(({ limit: { unit } }) => debited[unit] - held[unit]);
  if (unused.some((amount) => amount > 0n)) {
    limiter.giveBack(reservation.debits, nowMs, unused);
  }
}

export interface RateDenial {
  readonly error: ApiError;
  /** Index of the charge that exceeds the burst. If none does, index of the first charge that the rate limit applies to. */
  readonly index: number;
  /** Enqueues the event for the rate limit that denied the request. */
  enqueueEvent(limitEvents: LimitEvents, orgId: string, scope: Scope): void;
}

/**
 * Returns the denial; undefined if the request is allowed. A request that exceeds the burst gets `quota_exhausted` instead of
 * `rate_limited`, because retrying cannot clear it.
 */
export function rateDenial(
  { debitsOfLimits }: RateReservation,
  verdict: RateVerdict,
  surface: 'edge' | 'run',
): RateDenial | undefined {
  if (verdict.allowed) {
    return undefined;
  }
  const overBurst = debitsOfLimits.find(({ debit: { amount, burst } }) => amount > burst);
  const { limit, debit, parts } = overBurst ?? (debitsOfLimits[verdict.index] as DebitOfLimit);
  const error =
    overBurst === undefined
      ? apiErrorWithDetails('rate_limited', { retry_after_seconds: verdict.retryAfterSeconds })
      : burstLimitError(limit, debit.amount, surface);
  const part = overBurst === undefined ? parts[0] : parts.find(({ sum }) => sum > debit.burst);
  return {
    error: error.deniedBy(limit.id),
    index: part?.index ?? 0,
    enqueueEvent: (limitEvents, orgId, scope) =>
      limitEvents.rateDenied(orgId, scope, limit, debit.key, error.code),
  };
}

function burstLimitError(limit: Limit, requested: bigint, surface: 'edge' | 'run'): ApiError {
  const burst = inUnit(limit, limit.burst);
  return apiErrorWithStatus(
    'quota_exhausted',
    surface === 'edge' ? 402 : 429,
    {
      quota_kind: 'window',
      unit: limit.unit,
      limit: burst,
      used: inUnit(limit, 0n),
      window_start: null,
      window_end: null,
    },
    `The request needs ${inUnit(limit, requested)} ${limit.unit} at once and exceeds the burst limit of ${burst}. Retrying will not help; use a smaller request.`,
  );
}

function isAdmissionRate(limit: Limit): boolean {
  return limit.kind === 'rate' && limit.enforcement === 'block' && !isRequestRate(limit);
}

function isInForce({ expiresAtMs }: Limit, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs;
}

function debitOf(orgId: string, limit: Limit, scope: Scope, amounts: Amounts): RateDebit {
  const { id, match, span, unit, capacity, burst } = limit;
  const wildcardValues = (['customer_id', 'key_id', 'model'] as const)
    .filter((field) => match[field] === WILDCARD)
    .map((field) => `:${scope[field]}`)
    .join('');
  return {
    key: `${orgId}:${id}${wildcardValues}`,
    limit: capacity,
    windowSeconds: span.kind === 'fixed' ? span.seconds : 1,
    burst,
    amount: amounts[unit],
  };
}
