/**
 * The fast HTTP path: reads plain requests before Node's parser, which takes longer than a whole decision. Every connection starts
 * here. A plain request (`plain-head.ts`) is answered by the fast handler. If the handler does not accept its head or falls back,
 * the pipeline answers.
 *
 * At the first request that is not plain, is too large or arrives too slowly, the connection is handed over to Node permanently,
 * after all earlier responses. So unusual or broken framing, expectations, upgrades and slow uploads are handled in one place,
 * `server.ts`.
 *
 * A connection has one request in progress at a time, and is paused if more bytes arrive. So responses keep their order, and the
 * socket of a client that sends without reading exerts backpressure.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { HttpRequest } from '../message/http-request.ts';
import { stalledMs as defaultStalledMs } from '../message/send.ts';
import { FastConnection, type FastResponder, type PreparedHead } from './fast-connection.ts';
import { headBytesMax, type PlainHead, parsePlainHead } from './plain-head.ts';

/** Answers some plain requests without the pipeline. `Prepared` is the data that it derives from a head. */
export interface FastHandler<Prepared = unknown> {
  /** Called for a head that is not cached. Returns undefined if requests with this head belong to the pipeline. */
  prepare(head: PlainHead): Prepared | undefined;
  take(prepared: Prepared, body: Buffer, responder: FastResponder): void;
}

export interface FastPath {
  /** Closes the connections without a request in progress. */
  closeIdle(): void;
}

const sweepEveryMs = 250;
/** Maximum number of cached heads. Clients repeat a few heads. */
const cachedHeadsMax = 1_000;
const defaultArrivingBytesMax = 67_108_864;
const defaultBodyWithinMs = 250;
const headEnd = Buffer.from('\r\n\r\n');

export interface FastPathOptions {
  readonly fastHandler?: FastHandler | undefined;
  /** Answers all requests that the fast handler does not. Default: the server's `request` listeners. */
  serve?(incoming: HttpRequest): void;
  /** Maximum memory of the incomplete requests of all connections. Beyond it, incomplete requests are left to Node. */
  readonly arrivingBytesMax?: number;
  /** Time after which the rest of an incomplete request is left to Node. */
  readonly bodyWithinMs?: number;
  /** Time without activity after which a connection with unsent responses is closed. */
  readonly stalledMs?: number;
}

export function openFastPath(
  server: Server,
  {
    fastHandler,
    serve,
    arrivingBytesMax = defaultArrivingBytesMax,
    bodyWithinMs = defaultBodyWithinMs,
    stalledMs = defaultStalledMs,
  }: FastPathOptions = {},
): FastPath {
  const parse = server.listeners('connection') as ((socket: Socket) => void)[];
  const connections = new Set<FastConnection>();
  const cachedHeads = new Map<string, PreparedHead>();

  /** Returns the head at the start of these bytes; undefined if it is incomplete or not plain. */
  function headOf(bytes: Buffer): PreparedHead | undefined {
    const end = bytes.indexOf(headEnd);
    if (end === -1 || end > headBytesMax) {
      return undefined;
    }
    const text = bytes.toString('latin1', 0, end);
    const cached = cachedHeads.get(text);
    if (cached !== undefined) {
      return cached;
    }
    const head = parsePlainHead(text);
    if (head === undefined) {
      return undefined;
    }
    const prepared = { head, bytes: end + headEnd.length, prepared: fastHandler?.prepare(head) };
    if (cachedHeads.size >= cachedHeadsMax) {
      cachedHeads.clear();
    }
    cachedHeads.set(text, prepared);
    return prepared;
  }

  /** Cached for a second, the resolution of the `Date` header, because formatting is expensive. */
  let lines = { second: Number.NaN, isClosing: false, text: '' };
  const isClosing = () => !server.listening;
  function commonLines(): string {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== lines.second || isClosing() !== lines.isClosing) {
      const date = new Date(second * 1_000).toUTCString();
      const connection = isClosing()
        ? 'close'
        : `keep-alive\r\nKeep-Alive: timeout=${server.keepAliveTimeout / 1_000}`;
      lines = { second, isClosing: isClosing(), text: `Date: ${date}\r\nConnection: ${connection}\r\n` };
    }
    return lines.text;
  }

  let arrivingBytes = 0;

  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    // Reads the address, so that Node caches it: the system no longer returns it after the client has disconnected.
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const connection = new FastConnection(socket, {
      headOf,
      take({ prepared }, body) {
        if (prepared === undefined || fastHandler === undefined) {
          connection.fallBackToPipeline();
        } else {
          fastHandler.take(prepared, body, connection);
        }
      },
      serve:
        serve ??
        ((plain) => {
          const { request, response } = plain.messages();
          server.emit('request', request, response);
        }),
      parse() {
        for (const listener of parse) {
          listener.call(server, socket);
        }
      },
      timedOut() {
        const error = Object.assign(new Error('no request was received'), {
          code: 'ERR_HTTP_REQUEST_TIMEOUT',
        });
        server.emit('clientError', error, socket);
      },
      left: () => void connections.delete(connection),
      commonLines,
      tryTakeMemory(bytes) {
        const fits = arrivingBytes + bytes <= arrivingBytesMax;
        arrivingBytes += fits ? bytes : 0;
        return fits;
      },
      releaseMemory(bytes) {
        arrivingBytes -= bytes;
      },
      isClosing,
      keepAliveMs: server.keepAliveTimeout,
      bodyWithinMs,
      firstByteWithinMs: server.headersTimeout,
      stalledMs,
    });
    connections.add(connection);
  });
  const sweep = setInterval(() => {
    const nowMs = performance.now();
    for (const connection of connections) {
      connection.enforceTimeouts(nowMs);
    }
  }, sweepEveryMs);
  sweep.unref();
  server.once('close', () => clearInterval(sweep));

  return {
    closeIdle() {
      for (const connection of connections) {
        connection.closeIfIdle();
      }
    },
  };
}
