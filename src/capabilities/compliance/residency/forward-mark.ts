/**
 * The mark of a forwarded request: a header that the forwarding region signs. It covers the receiver, the time, the client's
 * address, the trace id, a nonce, the method, the path with its query, the credentials and the headers that change the
 * meaning of the body.
 *
 * The body is not known yet when the header is sent, so it is signed at its end: the body is followed by a MAC over the mark
 * and the body. This keeps streaming in bounded memory, and unlike an HTTP trailer it passes every proxy. A request without
 * a body is marked as such.
 */
import { createHmac, type Hmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Transform } from 'node:stream';
import type { BodyTrailer } from '../../../platform/http/message/body.ts';
import type { RequestHead } from '../../../platform/http/message/request-head.ts';
import { type PeerSecrets, type PeerStatement, sha256, sign, verifyWithSecret } from './signatures.ts';

/** Differs from the purpose of earlier marks, which covered neither the body nor a nonce and are not accepted. */
const purpose = 'forward-once';
const nonceBytes = 16;
export const trailerBytes = 32;

export interface MarkedRequest {
  readonly from: string;
  readonly to: string;
  readonly atMs: number;
  readonly address: string;
  readonly traceId: string;
}

interface ForwardStatement extends PeerStatement, MarkedRequest {
  readonly nonce: string;
  readonly hasBody: boolean;
}

export interface ForwardMark {
  readonly header: string;
  /** Appends the MAC to the body; undefined if the request has no body. */
  readonly signBody: (() => Transform) | undefined;
}

export function createMark(secrets: PeerSecrets, request: RequestHead, marked: MarkedRequest): ForwardMark {
  const hasBody = declaresBody(request);
  const nonce = randomBytes(nonceBytes).toString('base64url');
  const statement: ForwardStatement = { ...marked, nonce, hasBody };
  const header = sign(secrets, purpose, statement, partsOf(request));
  return { header, signBody: hasBody ? () => appendMac(secrets.signing, header) : undefined };
}

export interface VerifiedMark extends MarkedRequest {
  readonly nonce: string;
  /** Verifies the MAC at the end of the body; undefined if the request has no body. */
  readonly bodyTrailer: BodyTrailer | undefined;
}

/** Returns undefined unless another region has signed this request, except for its body, for this region and recently. */
export function verifyMark(
  secrets: PeerSecrets,
  request: RequestHead,
  header: string,
  at: { readonly region: string; readonly nowMs: number },
): VerifiedMark | undefined {
  const verified = verifyWithSecret<ForwardStatement>(secrets, purpose, header, partsOf(request), at);
  if (verified === undefined || verified.statement.hasBody !== declaresBody(request)) {
    return undefined;
  }
  const { statement, secret } = verified;
  const bodyTrailer: BodyTrailer = {
    bytes: trailerBytes,
    isValid: (body, trailer) => timingSafeEqual(macOf(secret, header).update(body).digest(), trailer),
  };
  return { ...statement, bodyTrailer: statement.hasBody ? bodyTrailer : undefined };
}

/** The headers, besides the credentials, that change what a body means or whether it is processed again. */
const signedHeaders = ['authorization', 'cookie', 'content-type', 'content-encoding', 'idempotency-key'];

function partsOf({ method = '', url = '', headers }: RequestHead): string[] {
  return [method, url, ...signedHeaders.map((name) => sha256(String(headers[name] ?? '')))];
}

/** Returns false if the head rules out a body. */
function declaresBody({ headers }: RequestHead): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function macOf(secret: string, header: string): Hmac {
  return createHmac('sha256', secret).update(JSON.stringify(['forwarded body', header]));
}

function appendMac(secret: string, header: string): Transform {
  const mac = macOf(secret, header);
  return new Transform({
    transform(chunk: Buffer, _, done) {
      mac.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      done(null, mac.digest());
    },
  });
}
