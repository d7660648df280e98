/** What is known of a request before its body: Node's messages have it, and what the lane has read has it too. */
import type { IncomingMessage } from 'node:http';
import { apiError } from '../../../contract/api-error.ts';

export type RequestHead = Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'headers' | 'rawHeaders' | 'socket'
>;

/** What Node leaves to us to refuse, see `server.ts`. */
export function checkEnvelopeOfRequest(request: RequestHead): void {
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    throw apiError('bad_request', 'The Host header is missing.');
  }
  if (headerLines(request, 'host').length > 1) {
    // A proxy in front may have believed the other one.
    throw apiError('bad_request', 'The Host header was sent more than once.');
  }
  if (headerLines(request, 'authorization').length > 1) {
    // Two readers of the request may take two different keys for the caller.
    throw apiError('bad_request', 'The Authorization header was sent more than once.');
  }
  if (!isPlainlyFramed(request)) {
    throw apiError('bad_request', 'The Transfer-Encoding header must be chunked.');
  }
  const { expect } = request.headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw apiError('bad_request', 'The Expect header asks for something unknown.');
  }
}

/**
 * False where the body has another transfer coding than `chunked`, which nothing here decodes. A proxy in front may see the
 * end of such a body elsewhere, so its connection is not used again.
 */
export function isPlainlyFramed({ headers }: Pick<RequestHead, 'headers'>): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

/** A header's values as they were sent: Node joins the lines of a header that was sent twice. */
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

/** Undefined where there is no bearer token, or none that could be one. */
export function presentedToken({ headers }: RequestHead): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}
