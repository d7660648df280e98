/**
 * Raw endpoints: everything below a path, outside the JSON API, with bodies as bytes and errors in a format of their own. They
 * identify the caller themselves.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../../../contract/api-error.ts';
import type { Reply, StreamedReply } from '../message/reply.ts';
import type { Caller } from './access.ts';

export interface RawEndpoint {
  /** The path without a slash at its end. The endpoint answers it and everything below, with every method. */
  readonly path: string;
  handler(request: RawRequest): Promise<Reply | StreamedReply>;
  /** Returns the response for an error that `handler` threw, or that a check before it threw. */
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
  /** Closes when the client leaves. */
  readonly socket: Socket;
  /** Names the caller in the log line of the request. */
  identified(caller: Caller): void;
  /** Receives header fields of the response about the request rates of the caller. */
  onRates(headers: Readonly<Record<'ratelimit' | 'ratelimit-policy', string>>): void;
  /** Reads the body, decompressed. May be called once; throws if the body is larger. */
  readBody(limitBytes: number, tenantId: string): Buffer | Promise<Buffer>;
}
