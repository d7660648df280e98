import { type Limit, type MatchField, type OrgLimits, WILDCARD } from '../../kernel/limits.ts';
import { DatabaseUnavailable } from '../../platform/db/database.ts';
import type { CheckRequestRate, RoutePlace } from '../../platform/http/pipeline/request-rate.ts';
import { type Caller, platformTenant } from '../../platform/http/routes/access.ts';
import {
  allowed,
  type RateLimiter,
  type RateTake,
  type RateVerdict,
} from '../../platform/rates/rate-limiter.ts';
import type { EventLimit, LimitEvents } from './limit-events.ts';
import type { OrgLimitsCache } from './org-limits.ts';

/** What a policy's `route_class` may name. */
export const routeClasses = ['read', 'write', 'runs', 'edge'] as const;
export type RouteClass = (typeof routeClasses)[number];

export interface RequestRateDependencies {
  readonly limiter: RateLimiter;
  readonly limitEvents: Pick<LimitEvents, 'rateDenied'>;
  readonly orgLimits: Pick<OrgLimitsCache, 'peek' | 'get'>;
  /** For orgs without a limit of their own; undefined: none. */
  readonly readLimitPerMinute: number | undefined;
}

export function createRequestRate(deps: RequestRateDependencies): CheckRequestRate {
  const { limiter, orgLimits, readLimitPerMinute, limitEvents } = deps;
  /** Picked out once for as long as an org's limits are the same: there may be thousands of other kinds. */
  const picked = new WeakMap<OrgLimits, readonly RequestRate[]>();

  function ratesOf(limits: OrgLimits): readonly RequestRate[] {
    let rates = picked.get(limits);
    if (rates === undefined) {
      rates = requestRates(limits, readLimitPerMinute);
      picked.set(limits, rates);
    }
    return rates;
  }

  function take(
    limits: OrgLimits,
    { keyId }: Caller,
    route: RoutePlace,
    nowMs: number,
  ): RateVerdict | Promise<RateVerdict> | undefined {
    const rates = ratesOf(limits);
    if (rates.length === 0) {
      return undefined;
    }
    const request = { key_id: keyId, route_class: routeClass(route) };
    const debits: RateTake[] = [];
    const taken: EventLimit[] = [];
    for (const rate of rates) {
      const key = counted(rate, request, nowMs);
      if (key !== undefined) {
        debits.push({ ...rate.take, key });
        taken.push(rate.limit);
      }
    }
    if (debits.length === 0) {
      return undefined;
    }
    const told = (verdict: RateVerdict): RateVerdict => {
      const refused = verdict.allowed ? undefined : taken[verdict.index];
      const take = verdict.allowed ? undefined : debits[verdict.index];
      if (refused !== undefined && take !== undefined) {
        limitEvents.rateDenied(limits.orgId, { key_id: keyId }, refused, take.key, 'rate_limited');
      }
      return verdict;
    };
    const verdict = limiter.take(debits, nowMs);
    return verdict instanceof Promise ? verdict.then(told) : told(verdict);
  }

  return (caller, route, nowMs) => {
    if (caller.tenantId === platformTenant) {
      return undefined;
    }
    const known = orgLimits.peek(caller.tenantId);
    return known === undefined
      ? orgLimits
          .get(caller.tenantId)
          .then((limits) => take(limits, caller, route, nowMs) ?? allowed)
          .catch(allowIfLimitsUnavailable)
      : take(known, caller, route, nowMs);
  };
}

/** A rate protects the service; while its limits cannot be read, what the request is for will tell that itself. */
function allowIfLimitsUnavailable(error: unknown): RateVerdict {
  if (error instanceof DatabaseUnavailable) {
    return allowed;
  }
  throw error;
}

export function routeClass({ kind, path }: RoutePlace): RouteClass {
  if (kind === 'read') {
    return 'read';
  }
  if (path.startsWith('/v1/runs')) {
    return 'runs';
  }
  return path.startsWith('/v1/edge/') ? 'edge' : 'write';
}

/** What can be known of a request before its body is read. */
type Request = Readonly<Record<'key_id' | 'route_class', string>>;

const knownFields: readonly MatchField[] = ['key_id', 'route_class'];

/** Whether a limit is applied here; the other rates are the gates'. */
export function isRequestRate({ kind, unit, match }: Limit): boolean {
  return (
    kind === 'rate' &&
    unit === 'requests' &&
    (Object.keys(match) as MatchField[]).every((field) => knownFields.includes(field))
  );
}

interface RequestRate {
  readonly limit: EventLimit;
  readonly match: Limit['match'];
  readonly expiresAtMs: number | null;
  readonly take: RateTake;
}

const minuteSeconds = 60;

function requestRates(
  { orgId, readRpm, all }: OrgLimits,
  readLimitPerMinute: number | undefined,
): RequestRate[] {
  const rates: RequestRate[] = [];
  const readsPerMinute = readRpm ?? readLimitPerMinute;
  if (readsPerMinute !== undefined) {
    const limit = BigInt(readsPerMinute);
    const match = { route_class: 'read' };
    rates.push({
      limit: { id: 'read_rpm', kind: 'rate', unit: 'requests', match, capacity: limit },
      match,
      expiresAtMs: null,
      take: {
        key: `${orgId}:reads`,
        limit,
        windowSeconds: minuteSeconds,
        burst: limit,
        amount: 1n,
        rolling: true,
      },
    });
  }
  for (const policy of all) {
    const { id, span, capacity, burst, match, expiresAtMs, enforcement } = policy;
    if (isRequestRate(policy) && enforcement === 'block' && span.kind === 'fixed') {
      rates.push({
        limit: policy,
        match,
        expiresAtMs,
        take: { key: `${orgId}:${id}`, limit: capacity, windowSeconds: span.seconds, burst, amount: 1n },
      });
    }
  }
  return rates;
}

/** The key under which a request counts; undefined when the rate is not about it. */
function counted(
  { match, expiresAtMs, take }: RequestRate,
  request: Request,
  nowMs: number,
): string | undefined {
  if (expiresAtMs !== null && expiresAtMs <= nowMs) {
    return undefined;
  }
  let { key } = take;
  for (const field of ['key_id', 'route_class'] as const) {
    const wanted = match[field];
    if (wanted === WILDCARD) {
      key += `:${request[field]}`;
    } else if (wanted !== undefined && wanted !== request[field]) {
      return undefined;
    }
  }
  return key;
}
