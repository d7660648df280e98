/**
 * A lane for plain requests in front of Node's parser, which costs more than a whole decision does. Every connection begins
 * here. A plain request (`plain-head.ts`) is answered by the shortcut where there is one for it, else by the same handler
 * as every other; what is not plain goes to Node with its connection, for good, behind all answers before it. So framing
 * that is odd or broken, expectations, upgrades and what arrives too slowly keep their one home, `server.ts`.
 *
 * One request of a connection is under way at a time, and nothing is read behind it: answers keep their order, and a client
 * that sends without reading is held back by its own socket.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { HttpRequest } from '../message/http-request.ts';
import { FastConnection, type FastResponder, type KnownHead } from './fast-connection.ts';
import { headBytesMax, type PlainHead, parsePlainHead } from './plain-head.ts';

/** Answers some plain requests without the pipeline. */
export interface FastHandler<Prepared = unknown> {
  /** What all requests with this head have in common; undefined: they go the common way. */
  prepare(head: PlainHead): Prepared | undefined;
  take(prepared: Prepared, body: Buffer, responder: FastResponder): void;
}

export interface FastPath {
  /** Closes the connections on which nothing is under way. */
  closeIdle(): void;
}

const sweepEveryMs = 250;
/** Clients send the same few heads again and again. */
const knownHeadsMax = 1_000;
const headEnd = Buffer.from('\r\n\r\n');

export interface FastPathOptions {
  readonly fastHandler?: FastHandler | undefined;
  /** Answers all others. Left out, it is whoever listens for the server's requests. */
  serve?(incoming: HttpRequest): void;
}

export function openFastPath(
  server: Server,
  { fastHandler: shortcut, serve }: FastPathOptions = {},
): FastPath {
  const parse = server.listeners('connection') as ((socket: Socket) => void)[];
  const connections = new Set<FastConnection>();
  const knownHeads = new Map<string, KnownHead>();

  /** The head that these bytes begin with; undefined where it is not whole, or not plain. */
  function headOf(bytes: Buffer): KnownHead | undefined {
    const end = bytes.indexOf(headEnd);
    if (end === -1 || end > headBytesMax) {
      return undefined;
    }
    const text = bytes.toString('latin1', 0, end);
    const known = knownHeads.get(text);
    if (known !== undefined) {
      return known;
    }
    const head = parsePlainHead(text);
    if (head === undefined) {
      return undefined;
    }
    const made = { head, bytes: end + headEnd.length, prepared: shortcut?.prepare(head) };
    if (knownHeads.size >= knownHeadsMax) {
      knownHeads.clear();
    }
    knownHeads.set(text, made);
    return made;
  }

  /** Formatting is dear, and a second is all it tells. */
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

  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    // Node keeps it from the first time on; of a client that has left since, the system no longer knows it.
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const connection = new FastConnection(socket, {
      headOf,
      take(known, body) {
        if (known.prepared === undefined || shortcut === undefined) {
          connection.fallBackToPipeline();
        } else {
          shortcut.take(known.prepared, body, connection);
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
        const error = Object.assign(new Error('nothing was sent'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
        server.emit('clientError', error, socket);
      },
      left: () => void connections.delete(connection),
      commonLines,
      isClosing,
      keepAliveMs: server.keepAliveTimeout,
      firstByteWithinMs: server.headersTimeout,
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
