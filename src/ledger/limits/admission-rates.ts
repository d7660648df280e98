/** The rate policies that look into a request: its model, its customer, its tokens, its cost. They stand with the gates. */
import { type ApiError, apiErrorWithDetails, apiErrorWithStatus } from '../../contract/api-error.ts';
import { inUnit } from '../../kernel/denial.ts';
import {
  type Amounts,
  applicable,
  type Limit,
  type OrgLimits,
  type Scope,
  WILDCARD,
} from '../../kernel/limits.ts';
import type { RateLimiter, RateTake, RateVerdict } from '../../platform/rates/rate-limiter.ts';
import type { LimitEvents } from './limit-events.ts';
import { isRequestRate } from './request-rates.ts';

export interface Charge {
  readonly scope: Scope;
  readonly amounts: Amounts;
}

/** What a request takes of one rate, for all of its runs that the rate is about. */
interface RateDebit {
  readonly limit: Limit;
  take: RateTake;
  /** Which charges take of it, and how much it is with each. */
  readonly parts: { readonly index: number; readonly sum: bigint }[];
}

/** What was taken; a request that is refused further on gives it back. */
export interface RateReservation {
  readonly debits: readonly RateTake[];
  /** Of each take, in the same order. */
  readonly shares: readonly RateDebit[];
  readonly verdict: RateVerdict | Promise<RateVerdict>;
}

/** All charges of a request pass together, or none. Undefined: no rate is about any of them. */
export function takeAdmissionRates(
  limiter: RateLimiter,
  limits: OrgLimits,
  charges: readonly Charge[],
  nowMs: number,
): RateReservation | undefined {
  if (!limits.hasRates) {
    return undefined;
  }
  const byKey = new Map<string, RateDebit>();
  for (const [index, { scope, amounts }] of charges.entries()) {
    for (const limit of applicable(limits, scope)) {
      if (isAdmissionRate(limit) && isInForce(limit, nowMs)) {
        const take = takeOf(limits.orgId, limit, scope, amounts);
        const share = byKey.get(take.key) ?? { limit, take: { ...take, amount: 0n }, parts: [] };
        const sum = share.take.amount + take.amount;
        share.take = { ...take, amount: sum };
        share.parts.push({ index, sum });
        byKey.set(take.key, share);
      }
    }
  }
  const shares = [...byKey.values()];
  const debits = shares.map(({ take }) => take);
  return debits.length === 0 ? undefined : { debits, shares, verdict: limiter.take(debits, nowMs) };
}

export interface RateDenial {
  readonly error: ApiError;
  /** Of the charge that was too much. */
  readonly index: number;
  /** Notes which rate it was that refused. */
  enqueueEvent(limitEvents: LimitEvents, orgId: string, scope: Scope): void;
}

/**
 * Undefined: they all let it pass. A retry clears `rate_limited`, so a request that takes more than ever passes at once is
 * told something else.
 */
export function rateDenial(
  { shares }: RateReservation,
  verdict: RateVerdict,
  surface: 'edge' | 'run',
): RateDenial | undefined {
  if (verdict.allowed) {
    return undefined;
  }
  const never = shares.find(({ take: { amount, burst } }) => amount > burst);
  const { limit, take, parts } = never ?? (shares[verdict.index] as RateDebit);
  const error =
    never === undefined
      ? apiErrorWithDetails('rate_limited', { retry_after_seconds: verdict.retryAfterSeconds })
      : burstLimitError(limit, take.amount, surface);
  const part = never === undefined ? parts[0] : parts.find(({ sum }) => sum > take.burst);
  return {
    error,
    index: part?.index ?? 0,
    enqueueEvent: (limitEvents, orgId, scope) =>
      limitEvents.rateDenied(orgId, scope, limit, take.key, error.code),
  };
}

function burstLimitError(limit: Limit, asked: bigint, surface: 'edge' | 'run'): ApiError {
  const most = inUnit(limit, limit.burst);
  return apiErrorWithStatus(
    'quota_exhausted',
    surface === 'edge' ? 402 : 429,
    {
      quota_kind: 'window',
      unit: limit.unit,
      limit: most,
      used: inUnit(limit, 0n),
      window_start: null,
      window_end: null,
    },
    `This request takes ${inUnit(limit, asked)} ${limit.unit} at once; a rate lets ${most} pass at most, however long it waits.`,
  );
}

function isAdmissionRate(limit: Limit): boolean {
  return limit.kind === 'rate' && limit.enforcement === 'block' && !isRequestRate(limit);
}

function isInForce({ expiresAtMs }: Limit, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs;
}

function takeOf(orgId: string, limit: Limit, scope: Scope, amounts: Amounts): RateTake {
  const { id, match, span, unit, capacity, burst } = limit;
  const own = (['customer_id', 'key_id', 'model'] as const)
    .filter((field) => match[field] === WILDCARD)
    .map((field) => `:${scope[field]}`)
    .join('');
  return {
    key: `${orgId}:${id}${own}`,
    limit: capacity,
    windowSeconds: span.kind === 'fixed' ? span.seconds : 1,
    burst,
    amount: amounts[unit],
  };
}
