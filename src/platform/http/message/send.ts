/**
 * Sends a response. Most of this file handles clients that are still sending when they are answered: they must receive the response
 * instead of a connection reset.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isBroken } from './body.ts';
import type { Reply, StreamedReply } from './reply.ts';

/**
 * Time that a connection stays open for a client that was answered while it was sending. It starts at the client's last byte, or at
 * the last response if that one closes the connection.
 */
const lingerMs = 10_000;

/** Time after which a response is aborted if its socket is inactive, usually because the client does not read. */
export const stalledMs = 120_000;

interface SendOptions {
  /** False if the length of the body is unknown. */
  readonly isWhole?: boolean;
  /** Replaces `stalledMs`. */
  readonly silentMsMax?: number;
}

export function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  { isWhole = true, silentMsMax = stalledMs }: SendOptions = {},
): void {
  if (response.destroyed || response.headersSent) {
    return;
  }
  const hasBody = isWhole && reply.status !== 204 && reply.status !== 304;
  const length = hasBody ? { 'content-length': Buffer.byteLength(reply.body) } : {};
  const headers = { ...reply.headers, ...length };
  endOldConnection(request, response, headers);
  if (!isStillSending(request)) {
    response.writeHead(reply.status, headers);
    response.end(reply.body);
  } else if (mayBeReused(request)) {
    answerEarly(request, response, { ...reply, headers });
  } else {
    answerLast(request, response, { ...reply, headers });
  }
  // Most responses are sent immediately and need no timer.
  if (response.socket instanceof Socket && response.socket.writableLength > 0) {
    cutIfSilent(response, silentMsMax);
  }
}

/** Closes the connection if its socket is inactive for this long before the response is sent. */
function cutIfSilent(response: ServerResponse, silentMsMax: number): void {
  response.setTimeout(silentMsMax, () => response.destroy());
  // Removes the timeout, because the next response may take longer. It runs before Node's own listener, which sets the timeout of
  // an idle connection.
  response.prependOnceListener('finish', () => {
    // Requests within the process, as in tests, have no real socket.
    if (response.socket instanceof Socket) {
      response.socket.setTimeout(0);
    }
  });
}

/** Sends a streamed body. Destroys the stream when the connection closes. */
export function sendStream(request: IncomingMessage, response: ServerResponse, reply: StreamedReply): void {
  const { status, headers, body, silentMsMax = stalledMs } = reply;
  if (response.destroyed || response.headersSent) {
    body.destroy();
    return;
  }
  if (request.method === 'HEAD') {
    // A response to HEAD has no body, but the headers of one.
    body.destroy();
    const coding: Reply['headers'] = request.httpVersion === '1.0' ? {} : { 'transfer-encoding': 'chunked' };
    sendReply(
      request,
      response,
      { ...reply, headers: { ...headers, ...coding }, body: '' },
      { isWhole: false },
    );
    return;
  }
  if (body.destroyed && !body.readableEnded) {
    // The stream failed before the listeners below were added, so nothing else would end the response.
    response.destroy();
    return;
  }
  cutIfSilent(response, silentMsMax);
  const isLast = isStillSending(request) && !mayBeReused(request);
  if (isLast) {
    response.shouldKeepAlive = false;
  }
  endOldConnection(request, response, headers);
  // Added before the head is written, because the head may be rejected. The connection is closed then, and the stream must end with
  // it.
  body.once('error', () => response.destroy());
  response.once('close', () => body.destroy());
  response.writeHead(status, headers);
  body.pipe(response, { end: false });
  body.once('end', () => {
    if (isLast) {
      request.resume();
      closeAfter(response, request.socket);
    } else if (isStillSending(request)) {
      endWithRequest(request, response);
    } else {
      response.end();
    }
  });
}

/**
 * Closes the connection after a response to HTTP/1.0 without a length, because only its end marks the end of the body. Node does
 * the same without setting `shouldKeepAlive`, which `server.ts` checks before it sends anything else.
 */
function endOldConnection(
  { httpVersion }: IncomingMessage,
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
): void {
  if (httpVersion === '1.0' && headers['content-length'] === undefined) {
    response.shouldKeepAlive = false;
  }
}

function isStillSending({ complete, readableEnded, headers }: IncomingMessage): boolean {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return hasBody && !complete && !readableEnded;
}

/**
 * Returns true if the connection can be reused: the next request starts after the body of this one, so that body must arrive
 * completely.
 */
function mayBeReused(request: IncomingMessage): boolean {
  return !isBroken(request) && request.headers.expect === undefined;
}

interface SizedReply extends Omit<Reply, 'headers'> {
  readonly headers: OutgoingHttpHeaders;
}

/**
 * Answers a client that is still sending. The response body is sent now, but the response only ends when the request does. If it
 * ended earlier, Node would stop reading, or close the connection of a client that sent `Connection: close`. Closing with unread
 * bytes resets the connection, and the response may be lost.
 */
function answerEarly(request: IncomingMessage, response: ServerResponse, reply: SizedReply): void {
  response.writeHead(reply.status, reply.headers);
  response.flushHeaders();
  response.write(reply.body);
  endWithRequest(request, response);
}

function endWithRequest(request: IncomingMessage, response: ServerResponse): void {
  request.once('end', () => response.end());
  // Limits the time without data only; the server limits the total time of a request.
  const cut = setTimeout(() => request.socket.destroy(), lingerMs);
  cut.unref();
  request.on('data', () => cut.refresh());
  response.once('close', () => clearTimeout(cut));
}

/** Sends the last response of a connection, to a request whose remaining body never arrives or cannot be delimited. */
function answerLast(request: IncomingMessage, response: ServerResponse, reply: SizedReply): void {
  response.shouldKeepAlive = false;
  response.writeHead(reply.status, reply.headers);
  response.write(reply.body);
  request.resume();
  closeAfter(response, request.socket);
}

/** Closes the socket once this response and all earlier ones are sent. The response must be written completely. */
export function closeAfter(response: ServerResponse, socket: Duplex): void {
  const close = () => closeGently(socket);
  if (response.writableFinished) {
    close();
  } else if (response.writableEnded || response.req.method === 'HEAD' || response.statusCode === 204) {
    response.prependListener('finish', close);
    response.end();
  } else {
    // Not `end`, after which Node would close the connection immediately.
    response.write('', close);
  }
}

/** Ends the sending side and reads for some more time, because closing with unread bytes resets the connection. */
export function closeGently(socket: Duplex): void {
  socket.end();
  socket.resume();
  const linger = setTimeout(() => socket.destroy(), lingerMs);
  linger.unref();
  socket.once('close', () => clearTimeout(linger));
}
