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
import { isRequestRate } from '../http/request-rate.ts';
import type { Exhaustions } from '../ledger/exhaustion.ts';
import type { RateLimiter, RateTake, RateVerdict } from './rate-limiter.ts';

/** What was taken; a request that is refused further on gives it back. */
export interface GateTake {
  readonly takes: readonly RateTake[];
  /** Of each take, in the same order. */
  readonly limits: readonly Limit[];
  readonly verdict: RateVerdict | Promise<RateVerdict>;
}

/** Undefined: no rate is about this request. */
export function takeGateRates(
  limiter: RateLimiter,
  limits: OrgLimits,
  charge: { readonly scope: Scope; readonly amounts: Amounts },
  nowMs: number,
): GateTake | undefined {
  if (!limits.hasRates) {
    return undefined;
  }
  const rates = applicable(limits, charge.scope).filter(
    (limit) => isGateRate(limit) && isInForce(limit, nowMs),
  );
  const takes = rates.map((limit) => takeOf(limits.orgId, limit, charge.scope, charge.amounts));
  return takes.length === 0 ? undefined : { takes, limits: rates, verdict: limiter.take(takes, nowMs) };
}

export interface RateRefusal {
  readonly refusal: Refusal;
  /** Notes which rate it was that refused. */
  tell(exhaustions: Exhaustions, orgId: string, scope: Scope): void;
}

/**
 * Undefined: they all let it pass. `before` is what the same request has taken for other runs of it. A retry clears
 * `rate_limited`, so a request that takes more than ever passes at once is told something else.
 */
export function rateRefusal(
  { takes, limits }: GateTake,
  verdict: RateVerdict,
  surface: 'edge' | 'run',
  before: readonly (readonly RateTake[])[] = [],
): RateRefusal | undefined {
  if (verdict.allowed) {
    return undefined;
  }
  const earlier = before.flat();
  const asked = takes.map(({ key, amount }) =>
    earlier.reduce((sum, one) => (one.key === key ? sum + one.amount : sum), amount),
  );
  const never = takes.findIndex(({ burst }, index) => (asked[index] ?? 0n) > burst);
  const index = never < 0 ? verdict.index : never;
  const limit = limits[index] as Limit;
  const refusal =
    never < 0
      ? refuseWith('rate_limited', { retry_after_seconds: verdict.retryAfterSeconds })
      : moreThanPasses(limit, asked[index] ?? 0n, surface);
  return {
    refusal,
    tell(exhaustions, orgId, scope) {
      exhaustions.rateRefused(orgId, scope, limit, takes[index]?.key ?? '', refusal.code);
    },
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
