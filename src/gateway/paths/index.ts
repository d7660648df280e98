/** The registry of our paths. Any other path below their prefixes gets 404, so that nothing passes unmetered. */
import type { ErrorFormat } from '../../kernel/providers/call-format.ts';
import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import { compat } from './compat.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';
import type { GatewayOperation, ServedPath } from './operation.ts';
import { vertex } from './vertex.ts';

export const servedPaths: readonly ServedPath[] = [openai, anthropic, compat, gemini, vertex, bedrock];

/** Metered operations by URL, cached because parsing a URL costs more than the rest of the routing. Clients use few URLs. */
const metered = new Map<string, GatewayOperation>();
const meteredMax = 1_000;
const cachedUrlMax = 200;

/** Query parameters of metered calls that are forwarded. A provider might read others in place of body members. */
const meteredParameters: ReadonlySet<string> = new Set(['beta']);

function withParameters(query: string, names: ReadonlySet<string>): string {
  const kept = [...new URLSearchParams(query)].filter(([name]) => names.has(name));
  return kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`;
}

/** Returns the operation of a path and method; undefined if the gateway does not serve it. HEAD counts as GET. */
export function operationOf(method: string, url: string): GatewayOperation | undefined {
  const known = method === 'POST' ? metered.get(url) : undefined;
  if (known !== undefined) {
    return known;
  }
  const parsed = parseOperation(method, url);
  const operation =
    parsed?.kind === 'metered' && parsed.query !== ''
      ? { ...parsed, query: withParameters(parsed.query, meteredParameters) }
      : parsed;
  if (operation?.kind === 'metered' && metered.size < meteredMax && isCacheable(url)) {
    metered.set(url, operation);
  }
  return operation;
}

/** A URL with a key is not kept. */
function isCacheable(url: string): boolean {
  return url.length <= cachedUrlMax && keyIn(url) === undefined;
}

/** Returns the key in the query of a URL, if its prefix has one there. */
export function keyIn(url: string): string | undefined {
  const mark = url.indexOf('?');
  const name = mark === -1 ? undefined : servedPathOf(url)?.keyParameter;
  return name === undefined ? undefined : (new URLSearchParams(url.slice(mark)).get(name) ?? undefined);
}

/** Returns the key with which a request below a prefix is signed, if it is. */
export function signingKeyIn(url: string, authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : servedPathOf(url)?.signingKeyOf?.(authorization);
}

function servedPathOf(url: string): ServedPath | undefined {
  return servedPaths.find(({ prefix }) => url.startsWith(prefix));
}

function parseOperation(method: string, url: string): GatewayOperation | undefined {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? '' : url.slice(mark);
  const verb = method === 'HEAD' ? 'GET' : method;
  const [, first, ...segments] = path.split('/');
  return servedPaths.find(({ prefix }) => prefix === `/${first}`)?.operationOf({ verb, segments, query });
}

/** Returns the form of error responses: that of the call, otherwise the usual one of the prefix. */
export function errorsOf(operation: GatewayOperation | undefined, url: string): ErrorFormat {
  const path = servedPathOf(url) ?? openai;
  return operation?.kind === 'metered' ? (operation.errors ?? operation.format.errors) : path.format.errors;
}
