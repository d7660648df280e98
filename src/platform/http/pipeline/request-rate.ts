/** Enforces the request rate of a caller, before the body is read. */
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { RateVerdict } from '../../rates/rate-limiter.ts';
import type { Caller } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';

/**
 * Returns a promise only if it must wait, so that the usual request does not. Undefined: the caller has no request
 * rate.
 */
export type CheckRequestRate = (
  caller: Caller,
  route: RoutePlace,
  nowMs: number,
) => RateVerdict | Promise<RateVerdict> | undefined;

export type RoutePlace = Pick<Route, 'kind' | 'path'>;

export function throwIfRateLimited(verdict: RateVerdict | undefined): void {
  if (verdict?.allowed === false) {
    throw apiErrorWithDetails(
      'rate_limited',
      { retry_after_seconds: verdict.retryAfterSeconds },
      'Too many requests; see Retry-After.',
    );
  }
}
