/** Cross-origin calls from browsers, for configured origins only. */
import type { RequestHead } from '../message/request-head.ts';

/** Response headers that a script in a browser may read. */
const exposedHeaders = [
  'x-svc-trace-id',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Idempotent-Replayed',
  'Deprecation',
  'Sunset',
  'Link',
  'ETag',
];
const preflightSeconds = '600';

export type Headers = Record<string, string>;

/** Returns the CORS headers of a response; undefined if the origin is not configured. */
export function corsHeaders(request: RequestHead, origins: readonly string[]): Headers | undefined {
  const { origin } = request.headers;
  if (origin === undefined || !origins.includes(origin)) {
    return undefined;
  }
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposedHeaders.join(', '),
    vary: 'Origin',
  };
}

export function isPreflight(request: RequestHead): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
}

export const preflightHeaders: Headers = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, If-Match',
  'access-control-max-age': preflightSeconds,
};
