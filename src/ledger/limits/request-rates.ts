import { type Limit, type MatchField, type OrgLimits, WILDCARD } from '../../kernel/limits.ts';
import { rateLimitHeaders } from '../../platform/http/pipeline/rate-limit-headers.ts';
import type {
  CheckRequestRate,
  RequestRateVerdict,
  RoutePlace,
} from '../../platform/http/pipeline/request-rate.ts';
import { type Caller, platformTenant } from '../../platform/http/routes/access.ts';
import {
  allowed,
  type RateDebit,
  type RateLimiter,
  type RateVerdict,
} from '../../platform/rates/rate-limiter.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';
import type { EventLimit, LimitEvents } from './limit-events.ts';
import type { OrgLimitsCache } from './org-limits.ts';

/** Values of `route_class` in a rate-limit policy. */
export const routeClasses = ['read', 'write', 'runs', 'edge'] as const;
export type RouteClass = (typeof routeClasses)[number];

export interface RequestRateDependencies {
  readonly limiter: RateLimiter;
  readonly limitEvents: Pick<LimitEvents, 'rateDenied'>;
  readonly orgLimits: Pick<OrgLimitsCache, 'peek' | 'get'>;
  /** Default for orgs without a read limit of their own; undefined: no limit. */
  readonly readLimitPerMinute: number | undefined;
}

export function createRequestRate(deps: RequestRateDependencies): CheckRequestRate {
  const { limiter, orgLimits, readLimitPerMinute, limitEvents } = deps;
  /** The request rates of an org, cached per version of its limits, among which there may be thousands of other limits. */
  const ratesByLimits = new WeakMap<OrgLimits, readonly RequestRate[]>();

  function ratesOf(limits: OrgLimits): readonly RequestRate[] {
    let rates = ratesByLimits.get(limits);
    if (rates === undefined) {
      rates = requestRates(limits, readLimitPerMinute);
      ratesByLimits.set(limits, rates);
    }
    return rates;
  }

  function take(
    limits: OrgLimits,
    { keyId }: Caller,
    route: RoutePlace,
    nowMs: number,
  ): ReturnType<CheckRequestRate> {
    const rates = ratesOf(limits);
    if (rates.length === 0) {
      return undefined;
    }
    const request = { key_id: keyId, route_class: routeClass(route) };
    const debits: RateDebit[] = [];
    const debitedLimits: EventLimit[] = [];
    for (const rate of rates) {
      const key = rateKey(rate, request, nowMs);
      if (key !== undefined) {
        debits.push({ ...rate.take, key });
        debitedLimits.push(rate.limit);
      }
    }
    if (debits.length === 0) {
      return undefined;
    }
    const reported = (verdict: RateVerdict): RequestRateVerdict => {
      const denyingLimit = verdict.allowed ? undefined : debitedLimits[verdict.index];
      const take = verdict.allowed ? undefined : debits[verdict.index];
      if (denyingLimit !== undefined && take !== undefined) {
        limitEvents.rateDenied(limits.orgId, { key_id: keyId }, denyingLimit, take.key, 'rate_limited');
      }
      const names = debitedLimits.map(({ id }) => id);
      return { ...verdict, headers: rateLimitHeaders(names, debits, verdict) };
    };
    const verdict = limiter.take(debits, nowMs);
    return verdict instanceof Promise ? verdict.then(reported) : reported(verdict);
  }

  return (caller, route, nowMs) => {
    if (caller.tenantId === platformTenant) {
      return undefined;
    }
    const cached = orgLimits.peek(caller.tenantId);
    return cached === undefined
      ? orgLimits
          .get(caller.tenantId)
          .then((limits) => take(limits, caller, route, nowMs) ?? allowed)
          .catch(allowIfLimitsUnavailable)
      : take(cached, caller, route, nowMs);
  };
}

/** Fails open: rate limits only protect the service. While the limits cannot be read, the request itself reports the outage. */
function allowIfLimitsUnavailable(error: unknown): RateVerdict {
  if (error instanceof ServiceUnavailable) {
    return allowed;
  }
  throw error;
}

/** Starts of the paths that other gateways call, and the operation name of the paths of our gateway. */
const edgePaths = ['/v1/edge/', '/v1/decisions/', 'gateway'];

/**
 * Returns the class of a route. Changes of holds by the id of their decision count as gateway traffic, like the decisions
 * themselves, because a rate for `write` is meant for changes of configuration.
 */
export function routeClass({ kind, path }: RoutePlace): RouteClass {
  if (kind === 'read') {
    return 'read';
  }
  if (path.startsWith('/v1/runs') || path.startsWith('/otlp')) {
    return 'runs';
  }
  return edgePaths.some((prefix) => path.startsWith(prefix)) ? 'edge' : 'write';
}

/** The fields that are known before the request body is read. */
type RequestFields = Readonly<Record<'key_id' | 'route_class', string>>;

const preBodyFields: readonly MatchField[] = ['key_id', 'route_class'];

/**
 * Returns true for rate limits that are checked before the body is read. All others belong to the admission check
 * (`admission-rates.ts`).
 */
export function isRequestRate({ kind, unit, match }: Limit): boolean {
  return (
    kind === 'rate' &&
    unit === 'requests' &&
    (Object.keys(match) as MatchField[]).every((field) => preBodyFields.includes(field))
  );
}

interface RequestRate {
  readonly limit: EventLimit;
  readonly match: Limit['match'];
  readonly expiresAtMs: number | null;
  readonly take: RateDebit;
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
        reports: true,
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
        take: {
          key: `${orgId}:${id}`,
          limit: capacity,
          windowSeconds: span.seconds,
          burst,
          amount: 1n,
          reports: true,
        },
      });
    }
  }
  return rates;
}

/** Returns the key that a request is counted under; undefined if the rate limit does not apply. */
function rateKey(
  { match, expiresAtMs, take }: RequestRate,
  request: RequestFields,
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
