/**
 * Protects against cross-site request forgery. A browser adds the session cookie to requests of any page, so requests that change
 * something are only accepted from our own pages. Every browser in use sends `Sec-Fetch-Site` or at least `Origin`. A client
 * without both is not a browser, so no page can misuse it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { apiError } from '../../../contract/api-error.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

export function isCrossSite(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) {
    return site !== 'same-origin' && site !== 'none';
  }
  const { origin } = headers;
  if (origin === undefined) {
    return false;
  }
  // A proxy may have changed the Host header. Without a proxy it is the host that the browser visits.
  return (
    origin !== new URL(baseUrl).origin && !(URL.canParse(origin) && new URL(origin).host === headers.host)
  );
}

export function checkNotCrossSite(
  { method, headers }: { readonly method?: string | undefined; readonly headers: IncomingHttpHeaders },
  baseUrl: string,
): void {
  if (!safeMethods.has(method ?? '') && isCrossSite(headers, baseUrl)) {
    throw apiError('forbidden', 'The request was sent by a page of another site.');
  }
}
