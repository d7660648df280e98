/**
 * Raw endpoints: everything below a path outside the JSON API. They get bodies as bytes, have their own error format, and identify
 * the caller themselves.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../../../contract/api-error.ts';
import type { Reply, StreamedReply } from '../message/reply.ts';
import type { Caller } from './access.ts';

export interface RawEndpoint {
  /** The path, without a slash at its end. The endpoint handles the path and everything below it, with every method. */
  readonly path: string;
  handler(request: RawRequest): Promise<Reply | StreamedReply>;
  /** Returns the response for the error of `handler`, or of a check before it. */
  refused(error: ApiError, request: RawHead): Reply | StreamedReply;
}

/** A request as it was received, before its body is read. */
export interface RawHead {
  readonly method: string;
  /** The path with its query string, as requested. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly traceId: string;
}

export interface RawRequest extends RawHead {
  readonly address: string;
  readonly now: Date;
  /** The client's connection. It closes when the client leaves. */
  readonly socket: Socket;
  /** Sets the caller for the log line of the request. */
  identified(caller: Caller): void;
  /** Sets the response headers about the caller's request rates. */
  onRates(headers: Readonly<Record<'ratelimit' | 'ratelimit-policy', string>>): void;
  /**
   * Reads and decompresses the body. Can be called only once. Throws if the body exceeds the limit. `tenantId` is undefined for a
   * caller that is not identified.
   */
  readBody(limitBytes: number, tenantId: string | undefined): Buffer | Promise<Buffer>;
}
