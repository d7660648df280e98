/**
 * Node's HTTP server, in which our responses replace all that Node would send by itself: each has the error envelope, a status of
 * the error catalog and a trace id, even if the request could not be parsed. Responses keep the order of their requests. A request
 * gets exactly one response, whatever the client sends after it. Nothing follows a response with `Connection: close`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import type { Log } from '../../log.ts';
import { breakBody, endedEarly } from '../message/body.ts';
import { errorReply } from '../message/reply.ts';
import { isPlainlyFramed } from '../message/request-head.ts';
import { closeAfter, closeGently } from '../message/send.ts';
import { newTraceId } from '../message/trace-id.ts';
import { type HeadersOfUnread, type RequestLine, UnreadHead } from '../message/unread-head.ts';
import type { RequestHandler } from '../pipeline/pipeline.ts';

const headersWithinMs = 20_000;
const requestWithinMs = 120_000;
/** Longer than the idle timeouts of common load balancers, so that these close idle connections first. */
const idleConnectionMs = 75_000;

const latest = Symbol('latest');
const waiting = Symbol('waiting');
const unread = Symbol('unread');

/** A connection, and the response to the latest request that was read from it. */
interface HttpConnection extends Duplex {
  [latest]?: ServerResponse;
  /** Number of requests that were read but wait for earlier responses. */
  [waiting]?: number;
  [unread]?: UnreadHead;
}

interface ParseError extends NodeJS.ErrnoException {
  /** Position in the latest bytes at which the parser failed; undefined if it did not fail. */
  readonly bytesParsed?: number;
}

export function createHttpServer(
  handler: RequestHandler,
  log: Log,
  headersOfUnread: HeadersOfUnread = () => ({}),
): Server {
  const unreadable = new WeakSet<Duplex>();
  const server = createServer({
    requireHostHeader: false,
    headersTimeout: headersWithinMs,
    requestTimeout: requestWithinMs,
    keepAliveTimeout: idleConnectionMs,
    connectionsCheckingInterval: 5_000,
  });
  // A client that has closed its sending side still receives its responses. Node has no option for this.
  Object.assign(server, { httpAllowHalfOpen: true });

  /**
   * A connection has one request in progress at a time, and is not read while others wait. So a client that does not read its
   * responses costs the memory of a single response.
   */
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const socket = request.socket as HttpConnection;
    const before = socket[latest];
    socket[unread]?.requestRead();
    if (socket.destroyed || before?.shouldKeepAlive === false) {
      return;
    }
    socket[latest] = response;
    if (request.httpVersion === '1.0') {
      // HTTP/1.0 has no interim responses, so the expectation must be ignored.
      delete request.headers.expect;
    }
    if (request.headers.upgrade !== undefined || !isPlainlyFramed(request) || !server.listening) {
      // Node does not parse another request after an upgrade header, so this is the last one.
      response.shouldKeepAlive = false;
    }
    if (before === undefined || before.writableFinished) {
      handler(request, response);
      return;
    }
    wait(socket, before, () => handler(request, response));
  };
  server.on('connection', (socket: HttpConnection) => {
    socket[unread] = new UnreadHead(socket, () => socket[latest]?.req.complete === false);
  });
  server.on('request', serve);
  // Node would answer both events by itself. The pipeline checks the header instead.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node has removed its listeners from this connection. Without any, an error would end the process.
    socket.on('error', () => undefined);
    answerAfterAll(socket, apiError('not_found', 'There is no such route.'));
  });

  server.on('clientError', (error: ParseError, socket: HttpConnection) => {
    if (error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    // After a parse error all further bytes fail too, and belong to no request that could be answered. The same holds for bytes
    // after a request with `Connection: close`.
    if (unreadable.has(socket) || !socket.writable || error.code === 'HPE_CLOSED_CONNECTION') {
      return;
    }
    unreadable.add(socket);
    if (socket.writableLength > 0) {
      // Paused, because each arriving byte would restart the timeout for clients that do not read. It is resumed once its responses
      // are sent.
      socket.pause();
    }
    const response = socket[latest];
    if (response === undefined || response.req.complete) {
      answerAfterAll(socket, apiErrorOf(error, 'head'), socket[unread]?.requestLine(error.bytesParsed));
    } else if (response.headersSent) {
      closeAfter(response, socket);
    } else {
      breakBody(response.req, apiErrorOf(error, 'body'));
    }
  });

  /**
   * Sends an error for CONNECT or for bytes that are not a request, after all earlier responses, unless one of them
   * closes the connection.
   */
  function answerAfterAll(socket: HttpConnection, error: ApiError, line?: RequestLine): void {
    const response = socket[latest];
    const answer = () => {
      if (response?.shouldKeepAlive !== false) {
        answerRaw(socket, { error, log, line, headersOfUnread });
      }
    };
    if (response === undefined || response.writableFinished) {
      answer();
    } else {
      // Must run before Node's own listener, which closes the connection if the client has closed its sending side.
      response.prependListener('finish', answer);
    }
  }
  return server;
}

function wait(socket: HttpConnection, before: ServerResponse, next: () => void): void {
  if (socket[waiting] === undefined) {
    socket[waiting] = 0;
    // Paused again, because reading the body of a request resumes the socket.
    socket.on('resume', () => {
      if (socket[waiting] !== 0) {
        socket.pause();
      }
    });
  }
  socket[waiting] += 1;
  socket.pause();
  before.once('close', () => {
    socket[waiting] = (socket[waiting] ?? 1) - 1;
    if (socket.destroyed) {
      return;
    }
    if (socket[waiting] === 0) {
      socket.resume();
    }
    next();
  });
}

function apiErrorOf({ code }: NodeJS.ErrnoException, part: 'head' | 'body'): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return apiError('bad_request', 'The headers are too large.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return apiError('payload_too_large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return apiError('bad_request', 'The request took too long to arrive.');
    case 'HPE_INVALID_EOF_STATE':
      return part === 'body'
        ? invalidField('body', 'invalid_body', endedEarly)
        : apiError('bad_request', 'The request ended early.');
    default:
      return apiError('bad_request', 'The request is not well-formed HTTP.');
  }
}

interface RawAnswer {
  readonly error: ApiError;
  readonly log: Log;
  /** Undefined if the request line is unknown. */
  readonly line: RequestLine | undefined;
  readonly headersOfUnread: HeadersOfUnread;
}

function answerRaw(socket: Duplex, { error, log, line, headersOfUnread }: RawAnswer): void {
  if (!socket.writable) {
    return;
  }
  const traceId = newTraceId();
  const reply = errorReply(error);
  const headers = {
    ...reply.headers,
    ...(line && headersOfUnread(line)),
    'x-svc-trace-id': traceId,
    'content-length': String(Buffer.byteLength(reply.body)),
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = line?.method === 'HEAD' ? '' : reply.body;
  log.info({ traceId, status: reply.status, code: reply.code }, 'unreadable request');
  socket.write(`HTTP/1.1 ${reply.status} ${reply.code}\r\n${head.join('')}\r\n${body}`);
  closeGently(socket);
}
