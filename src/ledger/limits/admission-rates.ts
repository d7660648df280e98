/** The rate policies that look into a request: its model, its customer, its tokens, its cost. They stand with the gates. */
import { type Refusal, refuseAs, refuseWith } from '../../contract/refusal.ts';
import { inUnit } from '../../kernel/denial.ts';
import {
  type Amounts,
  applicable,
  each,
  type Limit,
  type OrgLimits,
  type Scope,
} from '../../kernel/limits.ts';
import type { RateLimiter, RateTake, RateVerdict } from '../../platform/rates/rate-limiter.ts';
import type { Exhaustions } from './limit-events.ts';
import { isRequestRate } from './request-rates.ts';

export interface Charge {
  readonly scope: Scope;
  readonly amounts: Amounts;
}

/** What a request takes of one rate, for all of its runs that the rate is about. */
interface Share {
  readonly limit: Limit;
  take: RateTake;
  /** Which charges take of it, and how much it is with each. */
  readonly parts: { readonly index: number; readonly sum: bigint }[];
}

/** What was taken; a request that is refused further on gives it back. */
export interface GateTake {
  readonly takes: readonly RateTake[];
  /** Of each take, in the same order. */
  readonly shares: readonly Share[];
  readonly verdict: RateVerdict | Promise<RateVerdict>;
}

/** All charges of a request pass together, or none. Undefined: no rate is about any of them. */
export function takeGateRates(
  limiter: RateLimiter,
  limits: OrgLimits,
  charges: readonly Charge[],
  nowMs: number,
): GateTake | undefined {
  if (!limits.hasRates) {
    return undefined;
  }
  const byKey = new Map<string, Share>();
  for (const [index, { scope, amounts }] of charges.entries()) {
    for (const limit of applicable(limits, scope)) {
      if (isGateRate(limit) && isInForce(limit, nowMs)) {
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
  const takes = shares.map(({ take }) => take);
  return takes.length === 0 ? undefined : { takes, shares, verdict: limiter.take(takes, nowMs) };
}

export interface RateRefusal {
  readonly refusal: Refusal;
  /** Of the charge that was too much. */
  readonly index: number;
  /** Notes which rate it was that refused. */
  tell(exhaustions: Exhaustions, orgId: string, scope: Scope): void;
}

/**
 * Undefined: they all let it pass. A retry clears `rate_limited`, so a request that takes more than ever passes at once is
 * told something else.
 */
export function rateRefusal(
  { shares }: GateTake,
  verdict: RateVerdict,
  surface: 'edge' | 'run',
): RateRefusal | undefined {
  if (verdict.allowed) {
    return undefined;
  }
  const never = shares.find(({ take: { amount, burst } }) => amount > burst);
  const { limit, take, parts } = never ?? (shares[verdict.index] as Share);
  const refusal =
    never === undefined
      ? refuseWith('rate_limited', { retry_after_seconds: verdict.retryAfterSeconds })
      : moreThanPasses(limit, take.amount, surface);
  const part = never === undefined ? parts[0] : parts.find(({ sum }) => sum > take.burst);
  return {
    refusal,
    index: part?.index ?? 0,
    tell: (exhaustions, orgId, scope) => exhaustions.rateRefused(orgId, scope, limit, take.key, refusal.code),
  };
}

function moreThanPasses(limit: Limit, asked: bigint, surface: 'edge' | 'run'): Refusal {
  const most = inUnit(limit, limit.burst);
  return refuseAs(
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

function isGateRate(limit: Limit): boolean {
  return limit.kind === 'rate' && limit.enforcement === 'block' && !isRequestRate(limit);
}

function isInForce({ expiresAtMs }: Limit, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs;
}

function takeOf(orgId: string, limit: Limit, scope: Scope, amounts: Amounts): RateTake {
  const { id, match, span, unit, capacity, burst } = limit;
  const own = (['customer_id', 'key_id', 'model'] as const)
    .filter((field) => match[field] === each)
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
