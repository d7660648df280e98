/** Enforces how often a caller may send requests, before its body is read. */
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { RateVerdict } from '../../rates/rate-limiter.ts';
import type { Caller } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';

/** A value wherever it can be, so that the usual request need not wait. Undefined: there is nothing to ask. */
export type CheckRequestRate = (
  caller: Caller,
  route: RoutePlace,
  nowMs: number,
) => RateVerdict | Promise<RateVerdict> | undefined;

export type RoutePlace = Pick<Route, 'kind' | 'path'>;

/** Throws what is not allowed. */
export function throwIfRateLimited(verdict: RateVerdict | undefined): void {
  if (verdict?.allowed === false) {
    throw apiErrorWithDetails(
      'rate_limited',
      { retry_after_seconds: verdict.retryAfterSeconds },
      'Too many requests; see Retry-After.',
    );
  }
}
