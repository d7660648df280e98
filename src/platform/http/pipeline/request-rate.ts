/** Enforces the request rate of a caller, before the body is read. */
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { RateVerdict } from '../../rates/rate-limiter.ts';
import type { Caller } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';
import type { RateLimitHeaders } from './rate-limit-headers.ts';

/** A verdict, and the header fields of the response if a request rate applies. */
export type RequestRateVerdict = RateVerdict & { readonly headers?: RateLimitHeaders };

/**
 * Checks the request rate. Returns a promise only if it must wait, so that the usual request does not. Returns undefined if the
 * caller has no request rate.
 */
export type CheckRequestRate = (
  caller: Caller,
  route: RoutePlace,
  nowMs: number,
) => RequestRateVerdict | Promise<RequestRateVerdict> | undefined;

export type RoutePlace = Pick<Route, 'kind' | 'path'>;

/** Throws if the request is denied. Calls `onRates` with the header fields before, because every response has them. */
export function throwIfRateLimited(
  verdict: RequestRateVerdict | undefined,
  onRates: (headers: RateLimitHeaders) => void,
): void {
  if (verdict?.headers !== undefined) {
    onRates(verdict.headers);
  }
  if (verdict?.allowed === false) {
    throw apiErrorWithDetails(
      'rate_limited',
      { retry_after_seconds: verdict.retryAfterSeconds },
      'Too many requests; see Retry-After.',
    );
  }
}
