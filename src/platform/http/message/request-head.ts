/** The head of a request: the part of Node's message that requests of the fast HTTP path have too. */
import type { IncomingMessage } from 'node:http';
import { apiError } from '../../../contract/api-error.ts';

export type RequestHead = Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'headers' | 'rawHeaders' | 'socket'
>;

/** Rejects heads that Node accepts; see `server.ts`. */
export function checkRequestLine(request: RequestHead): void {
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    throw apiError('bad_request', 'The Host header is missing.');
  }
  if (headerLines(request, 'host').length > 1) {
    // A proxy may have used the other value.
    throw apiError('bad_request', 'The Host header was sent more than once.');
  }
  if (headerLines(request, 'authorization').length > 1) {
    // A proxy may have used the other value and identified another caller.
    throw apiError('bad_request', 'The Authorization header was sent more than once.');
  }
  if (!isPlainlyFramed(request)) {
    throw apiError('bad_request', 'The Transfer-Encoding header must be chunked.');
  }
  const { expect } = request.headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw apiError('bad_request', 'The Expect header must be 100-continue.');
  }
}

/**
 * Returns false if the body has a transfer coding other than `chunked`, which is not supported. A proxy may find the end of such a
 * body elsewhere, so its connection must not be reused.
 */
export function isPlainlyFramed({ headers }: Pick<RequestHead, 'headers'>): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

/** Returns the values of a header as they were sent, one per line: Node joins the lines of a repeated header. */
export function headerLines({ headers, rawHeaders }: RequestHead, name: string): string[] {
  const lines: string[] = [];
  for (let i = 0; headers[name] !== undefined && i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string;
    if (raw.length === name.length && raw.toLowerCase() === name) {
      lines.push(rawHeaders[i + 1] as string);
    }
  }
  return lines;
}

export function bearerToken(request: RequestHead): string {
  const token = presentedToken(request);
  if (token === undefined) {
    throw apiError('unauthorized', 'A bearer token is required.');
  }
  return token;
}

/** Returns the bearer token; undefined if there is none or it is malformed. */
export function presentedToken({ headers }: RequestHead): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}
