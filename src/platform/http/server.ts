/**
 * Node's HTTP server, with every answer it would make by itself replaced by ours: the envelope, a catalogued
 * status and a trace id, also where the request could not even be parsed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Refusal, refuse, refuseField } from '../../contract/refusal.ts';
import type { Log } from '../log.ts';
import type { RequestHandler } from './pipeline.ts';
import { refusalReply } from './reply.ts';
import { newTraceId } from './trace-id.ts';

const headersWithinMs = 20_000;
const requestWithinMs = 120_000;
/** Above the idle timeouts of common load balancers, so that they are the ones to close an idle connection. */
const idleConnectionMs = 75_000;

export function createHttpServer(handler: RequestHandler, log: Log): Server {
  const server = createServer({
    requireHostHeader: false,
    headersTimeout: headersWithinMs,
    requestTimeout: requestWithinMs,
    keepAliveTimeout: idleConnectionMs,
    connectionsCheckingInterval: 5_000,
  });
  const serve = (request: IncomingMessage, response: ServerResponse) => void handler(request, response);
  server.on('request', serve);
  // Both would be answered by Node before we saw the request; the pipeline looks at the header itself.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    answerRaw(socket, refuse('not_found', 'There is no such route.'), log);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (responseInProgress(socket)) {
      socket.destroy();
      return;
    }
    answerRaw(socket, refusalOf(error), log);
  });
  return server;
}

/** A half-sent response on this connection cannot be mended by another one behind it. */
function responseInProgress(socket: Socket): boolean {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse };
  return current?.headersSent === true && !current.writableFinished;
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse('bad_request', 'The headers are too large.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refuse('payload_too_large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse('bad_request', 'The request took too long to arrive.');
    case 'HPE_INVALID_EOF_STATE':
      return refuseField('body', 'invalid_body', 'The body ended early.');
    default:
      return refuse('bad_request', 'The request is not well-formed HTTP.');
  }
}

function answerRaw(socket: Duplex, refusal: Refusal, log: Log): void {
  const traceId = newTraceId();
  const reply = refusalReply(refusal);
  const headers = {
    ...reply.headers,
    'x-svc-trace-id': traceId,
    'content-length': String(Buffer.byteLength(reply.body)),
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  log.info({ traceId, status: reply.status, code: reply.code }, 'a request could not be read');
  socket.on('error', () => undefined);
  socket.end(`HTTP/1.1 ${reply.status} ${reply.code}\r\n${head.join('')}\r\n${reply.body}`);
}
