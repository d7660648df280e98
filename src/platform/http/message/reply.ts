/** Answers as values, and the one place that makes them out of whatever was thrown. */
import { Readable } from 'node:stream';
import { ApiError, apiError } from '../../../contract/api-error.ts';
import { DatabaseUnavailable } from '../../db/database.ts';
import type { Log } from '../../log.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  /** The error code, for logs and metrics. */
  readonly code?: string;
}

/** An answer whose body comes bit by bit. If that fails half way the connection is cut: half an answer must not look whole. */
export interface StreamedReply extends Omit<Reply, 'body'> {
  readonly body: Readable;
  /** The region that made it, and said all that is to be said of the route. */
  readonly servedBy?: string;
}

const json = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

export function jsonReply(status: number, body: string, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: status === 204 ? { 'cache-control': 'no-store', ...headers } : { ...json, ...headers },
    body,
  };
}

/** Makes the first chunk: what fails until then can still be refused. */
export async function streamReply(
  status: number,
  { contentType, chunks }: StreamResponse,
): Promise<StreamedReply> {
  const rest = chunks[Symbol.asyncIterator]();
  let first: IteratorResult<string> | undefined = await rest.next();
  // No generator: one that nobody has begun to read would end without ending what it reads from.
  const all: AsyncIterableIterator<string> = {
    async next() {
      const chunk = first ?? (await rest.next());
      first = undefined;
      return chunk;
    },
    return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]: () => all,
  };
  return {
    status,
    headers: { 'content-type': contentType, 'cache-control': 'no-store' },
    body: Readable.from(all, { highWaterMark: 1 }),
  };
}

export function errorReply(error: ApiError): Reply {
  const headers: Record<string, string> = { ...json };
  if (error.status === 401) {
    headers['www-authenticate'] = 'Bearer realm="purser"';
  }
  if (error.code === 'rate_limited') {
    headers['retry-after'] = String((error.details as { retry_after_seconds: number }).retry_after_seconds);
  }
  return { status: error.status, headers, body: JSON.stringify(error.envelope), code: error.code };
}

/** Whatever was thrown, as the refusal that a caller may see. Nothing of an unexpected error gets out. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  return apiError(error instanceof DatabaseUnavailable ? 'service_unavailable' : 'internal');
}

/** The same, with what nobody meant to throw in the log. */
export function logged(log: Log, error: unknown, traceId: string): ApiError {
  const refusal = asApiError(error);
  if (refusal.code === 'internal') {
    log.error({ traceId, err: error }, 'a request failed unexpectedly');
  } else if (refusal !== error) {
    log.warn({ traceId, reason: String(error) }, 'a dependency is away');
  }
  return refusal;
}

/** An answer that is too long to be held: it is sent as it is made, and made no sooner than it can be sent. */
export interface StreamResponse {
  readonly contentType: string;
  /** The first one is made before anything is sent, so that what fails at the start is refused like anything else. */
  readonly chunks: AsyncIterable<string>;
}

export function isStream(answer: unknown): answer is StreamResponse {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer && 'contentType' in answer;
}
