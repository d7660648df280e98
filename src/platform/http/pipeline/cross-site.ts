/**
 * Whether a request was caused by a page of somebody else. A browser adds a session's cookie by itself, so what changes
 * something is believed only from our own pages. Every browser in use says where a request comes from, in
 * `Sec-Fetch-Site` or at least in `Origin`; whoever sends neither is no browser, and nobody tricked it.
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
  // A proxy in front may have changed the Host; without one it is what the browser was told to visit.
  return (
    origin !== new URL(baseUrl).origin && !(URL.canParse(origin) && new URL(origin).host === headers.host)
  );
}

export function checkNotCrossSite(
  { method, headers }: { readonly method?: string | undefined; readonly headers: IncomingHttpHeaders },
  baseUrl: string,
): void {
  if (!safeMethods.has(method ?? '') && isCrossSite(headers, baseUrl)) {
    throw apiError('forbidden', 'This was sent by a page of another site.');
  }
}
