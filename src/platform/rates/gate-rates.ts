/** The rate policies that look into a request: its model, its customer, its tokens, its cost. They stand with the gates. */
import { refuseWith } from '../../contract/refusal.ts';
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

/** Notes which rate it was that refused. */
export function tellRefusal(
  exhaustions: Exhaustions,
  orgId: string,
  scope: Scope,
  { takes, limits }: GateTake,
  verdict: RateVerdict,
): void {
  const refused = verdict.allowed ? undefined : limits[verdict.index];
  const take = verdict.allowed ? undefined : takes[verdict.index];
  if (refused !== undefined && take !== undefined) {
    exhaustions.rateRefused(orgId, scope, refused, take.key);
  }
}

export function checkRate(verdict: RateVerdict): void {
  if (!verdict.allowed) {
    throw refuseWith('rate_limited', { retry_after_seconds: verdict.retryAfterSeconds });
  }
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
