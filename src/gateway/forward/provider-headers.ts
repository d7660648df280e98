/** Headers on their way to the provider and back: without credentials, hop-by-hop headers and those of Purser. */
import type { IncomingHttpHeaders } from 'node:http';
import {
  accountHeaders,
  type Connection,
  keyHeaders,
} from '../../capabilities/integration/connections/index.ts';

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Set for each request, or meant for Purser or for a proxy before it. */
const notForwarded = new Set([
  ...keyHeaders,
  ...accountHeaders,
  'host',
  'content-length',
  'content-encoding',
  'accept-encoding',
  'expect',
  'authorization',
  'cookie',
  'forwarded',
  'x-real-ip',
  // It belongs to the caller. At the provider all callers share an account, and could get the responses of others.
  'idempotency-key',
  'x-idempotency-key',
]);

/** They make servers and proxies behind the connection take a request for another one, or send it elsewhere, or more than once. */
const redirecting =
  /^(x-http-method$|x-(http-)?method-override$|x-original-|x-rewrite-|x-portkey-|x-litellm-|cf-aig-|helicone-)/;

/** Returns the headers of a request, without its credentials. */
export function requestHeaders(
  given: IncomingHttpHeaders,
  connection: Connection,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  const named = given.connection === undefined ? undefined : connectionHeaderNames(given.connection);
  for (const name in given) {
    const value = given[name];
    if (value !== undefined && named?.has(name) !== true && isForwarded(name)) {
      headers[name] = value;
    }
  }
  if (headers['content-type'] !== undefined) {
    // A charset, or another type, would make the provider read another request than the one that was checked.
    headers['content-type'] = 'application/json';
  }
  // The usage is read from the response, and compressing a stream would delay its events.
  headers['accept-encoding'] = 'identity';
  Object.assign(headers, connection.headers);
  return headers;
}

function isForwarded(name: string): boolean {
  return (
    !hopByHop.has(name) &&
    !notForwarded.has(name) &&
    !name.startsWith('x-svc-') &&
    !name.startsWith('x-forwarded-') &&
    !redirecting.test(name)
  );
}

/** The header `Connection` names further headers that end at this hop. */
function connectionHeaderNames(value: string): ReadonlySet<string> {
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()));
}

/** Headers of a response that are not passed on: its body is sent with a framing of its own. */
const notReturned = new Set([
  'content-length',
  'date',
  'server',
  'set-cookie',
  'strict-transport-security',
  'alt-svc',
]);

export function responseHeaders(
  given: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const name in given) {
    const value = given[name];
    if (value !== undefined && !hopByHop.has(name) && !notReturned.has(name) && !name.startsWith('x-svc-')) {
      headers[name] = value;
    }
  }
  return headers;
}
