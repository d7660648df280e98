/** Filters the headers of requests and responses: removes credentials, hop-by-hop headers and those of Purser. */
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

/** Headers that are set for each request, or that are for Purser or a proxy in front of it. */
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
  // These belong to the caller. All callers share one account at the provider, so they could get the responses of others.
  'idempotency-key',
  'x-idempotency-key',
]);

/** Headers by which servers and proxies behind the connection would change the request, redirect it or send it repeatedly. */
const redirecting =
  /^(x-http-method$|x-(http-)?method-override$|x-original-|x-rewrite-|x-portkey-|x-litellm-|cf-aig-|helicone-)/;

/**
 * Headers by which Google and Amazon Bedrock would serve the request at other prices, or leave the usage and the charged searches out of
 * the response.
 */
const changingCost = /^(x-goog-(?!api-client$)|x-vertex-ai-|x-amzn-bedrock-)/;

/** Returns the headers to send, without the caller's credentials. */
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
    // With a charset or another type, the provider might read another request than the one that was checked.
    headers['content-type'] = 'application/json';
  }
  // No compression, because the usage is read from the response, and compressing a stream would delay its events.
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
    !redirecting.test(name) &&
    !changingCost.test(name)
  );
}

/** Returns the names in the header `Connection`, which are hop-by-hop too. */
function connectionHeaderNames(value: string): ReadonlySet<string> {
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()));
}

/** Response headers that are not sent to the client, because the gateway sends the body with its own framing. */
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
