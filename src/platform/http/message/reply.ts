/** Responses as values, and the conversion of thrown errors to them. */
import { Readable } from 'node:stream';
import { ApiError, apiError } from '../../../contract/api-error.ts';
import { createFailureLog } from '../../failure-log.ts';
import type { Log } from '../../log.ts';
import { ServiceUnavailable } from '../../service-unavailable.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  /** The error code, for logs. */
  readonly code?: string;
}

/**
 * A response with a streamed body. If the stream fails, the connection is closed without an end of the response, so that it does
 * not look complete.
 */
export interface StreamedReply extends Omit<Reply, 'body'> {
  readonly body: Readable;
  /** Maximum time without a byte. Replaces `stalledMs` if the source of the stream may pause for longer. */
  readonly silentMsMax?: number;
  /** The region that made the response, including its deprecation headers. */
  readonly servedBy?: string;
}

const noContent = { 'cache-control': 'no-store' };
const json = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

export function jsonReply(status: number, body: string, headers?: Record<string, string>): Reply {
  const common: Reply['headers'] = status === 204 ? noContent : json;
  return { status, headers: headers === undefined ? common : { ...common, ...headers }, body };
}

/** Creates a streamed reply after the first chunk, because a failure before it can still become an error response. */
export async function streamReply(
  status: number,
  { contentType, chunks }: StreamResponse,
): Promise<StreamedReply> {
  const rest = chunks[Symbol.asyncIterator]();
  let first: IteratorResult<string | Uint8Array> | undefined = await rest.next();
  // Not a generator, because `return` of a generator that was never started would not end its source.
  const all: AsyncIterableIterator<string | Uint8Array> = {
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

/** Returns the error to show to the caller. Hides all details of an unexpected error. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  return apiError(error instanceof ServiceUnavailable ? 'service_unavailable' : 'internal');
}

/** Converts an error to the one to show to the caller. Logs it if it is unexpected or if a dependency is unavailable. */
export type LogError = (error: unknown, traceId: string) => ApiError;

/** Time without a failed request after which a dependency counts as recovered. */
export const quietAfterMs = 10_000;

/** Logs errors. An unavailable dependency is logged once and then summarized, because each failed request has its own log line. */
export function createLogError(log: Log): LogError {
  const unavailable = createFailureLog({
    log,
    fields: {},
    messages: {
      failed: 'dependency unavailable',
      stillFails: 'dependency still unavailable',
      recovered: 'dependency available again: no request fails any more',
    },
  });
  let quiet: NodeJS.Timeout | undefined;
  return (error, traceId) => {
    const shown = asApiError(error);
    if (shown.code === 'internal') {
      log.error({ traceId, err: error }, 'unexpected error in a request');
    } else if (shown !== error) {
      unavailable.failed(error, { traceId });
      clearTimeout(quiet);
      quiet = setTimeout(() => unavailable.succeeded(), quietAfterMs).unref();
    }
    return shown;
  };
}

/** A response that is too large for memory. It is generated while it is sent, at the pace of the client. */
export interface StreamResponse {
  readonly contentType: string;
  /** The first chunk is generated before anything is sent, so that an early failure becomes an error response. */
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

export function isStream(answer: unknown): answer is StreamResponse {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer && 'contentType' in answer;
}
