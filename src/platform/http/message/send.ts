/**
 * Writes an answer. The plain case is two calls; the rest is for clients that are answered while they are still
 * sending, who must receive the answer and not a reset.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isBroken } from './body.ts';
import type { Reply, StreamedReply } from './reply.ts';

/** How long a connection is kept for a client that was answered while sending, and has gone silent since. */
const lingerMs = 10_000;

/** A receiver that takes nothing of a stream for so long is gone. */
const stalledMs = 120_000;

/** `isWhole`: false where the length of the body is not known. */
export function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  isWhole = true,
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
}

/** The same for a body that is still being made. What it is made from is ended with the connection. */
export function sendStream(request: IncomingMessage, response: ServerResponse, reply: StreamedReply): void {
  const { status, headers, body } = reply;
  if (response.destroyed || response.headersSent) {
    body.destroy();
    return;
  }
  if (request.method === 'HEAD') {
    // Nobody reads it, so it need not be made.
    body.destroy();
    sendReply(request, response, { ...reply, body: '' }, false);
    return;
  }
  if (body.destroyed && !body.readableEnded) {
    // It failed before anybody listened, so nothing else will end the response.
    response.destroy();
    return;
  }
  response.setTimeout(stalledMs, () => response.destroy());
  const isLast = isStillSending(request) && !mayBeReused(request);
  if (isLast) {
    response.shouldKeepAlive = false;
  }
  endOldConnection(request, response, headers);
  response.writeHead(status, headers);
  body.once('error', () => response.destroy());
  response.once('close', () => body.destroy());
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
 * Without chunks or a length, an answer to HTTP/1.0 ends with its connection. Node knows that too, but keeps it to itself;
 * `shouldKeepAlive` is what `server.ts` asks before it sends anything else.
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

/** What follows on this connection can be told from the body only if that body is sure to come, and whole. */
function mayBeReused(request: IncomingMessage): boolean {
  return !isBroken(request) && request.headers.expect === undefined;
}

interface SizedReply extends Omit<Reply, 'headers'> {
  readonly headers: OutgoingHttpHeaders;
}

/**
 * The client is still sending. It gets the whole answer now, but the response ends with the request: until then
 * Node would not read on, or would close the connection under a client that asked for that, and a connection
 * that is closed with bytes unread is reset, which may take the answer along.
 */
function answerEarly(request: IncomingMessage, response: ServerResponse, reply: SizedReply): void {
  response.writeHead(reply.status, reply.headers);
  response.flushHeaders();
  response.write(reply.body);
  endWithRequest(request, response);
}

function endWithRequest(request: IncomingMessage, response: ServerResponse): void {
  request.once('end', () => response.end());
  // Only silence is cut off here; how long a request may take as a whole is the server's to bound.
  const cut = setTimeout(() => request.socket.destroy(), lingerMs);
  cut.unref();
  request.on('data', () => cut.refresh());
  response.once('close', () => clearTimeout(cut));
}

/** The rest of the body never comes, or cannot be found: this is the last answer on the connection. */
function answerLast(request: IncomingMessage, response: ServerResponse, reply: SizedReply): void {
  response.shouldKeepAlive = false;
  response.writeHead(reply.status, reply.headers);
  response.write(reply.body);
  request.resume();
  closeAfter(response, request.socket);
}

/** Closes once this response, which is written whole, is on its way behind those of all requests before it. */
export function closeAfter(response: ServerResponse, socket: Duplex): void {
  const close = () => closeGently(socket);
  if (response.writableFinished) {
    close();
  } else if (response.writableEnded || response.req.method === 'HEAD' || response.statusCode === 204) {
    response.prependListener('finish', close);
    response.end();
  } else {
    // Not by ending it: Node would then cut the connection at once.
    response.write('', close);
  }
}

/** Says that no more will come and reads on for a while, because closing with bytes unread is a reset. */
export function closeGently(socket: Duplex): void {
  socket.end();
  socket.resume();
  const linger = setTimeout(() => socket.destroy(), lingerMs);
  linger.unref();
  socket.once('close', () => clearTimeout(linger));
}
