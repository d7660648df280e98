/**
 * The client of the gateway rows: requests over bare sockets, whose responses may be chunked or streams. Reports when the first byte of
 * a body and when its end arrived. Bare sockets for the same reason as in `load.ts`: the client shares the cores with the servers.
 */
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface Exchange {
  readonly status: number;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface Client {
  /** Sends a request and resolves at the end of its response. `onBody` gets the chunks as they arrive, still framed. */
  send(request: Buffer, onBody?: (chunk: Buffer) => void): Promise<Exchange>;
  close(): void;
}

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');
const nothing: Buffer = Buffer.alloc(0);

/** The response that is being received. */
interface Pending {
  readonly startedMs: number;
  readonly onBody: ((chunk: Buffer) => void) | undefined;
  resolve(exchange: Exchange): void;
  reject(error: Error): void;
  head: Buffer;
  status: number;
  firstByteMs: number;
  /** Bytes that are missing from a body with a length; undefined if the body is chunked. */
  left: number | undefined;
  tail: Buffer;
}

export function connectClient(port: number): Promise<Client> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(clientOn(socket));
    });
  });
}

function clientOn(socket: Socket): Client {
  let pending: Pending | undefined;
  let broken: Error | undefined;
  const fail = (error: Error) => {
    broken ??= error;
    pending?.reject(broken);
    pending = undefined;
  };
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the server closed a connection')));
  socket.on('data', (chunk) => {
    if (pending === undefined) {
      fail(new Error('the server sent more than its response'));
      return;
    }
    const current = pending;
    const isComplete = receive(current, chunk);
    if (isComplete) {
      pending = undefined;
      const { status, startedMs, firstByteMs } = current;
      current.resolve({
        status,
        firstByteMs: firstByteMs - startedMs,
        totalMs: performance.now() - startedMs,
      });
    }
  });
  return {
    send: (request, onBody) =>
      new Promise((resolve, reject) => {
        if (broken !== undefined) {
          reject(broken);
          return;
        }
        const startedMs = performance.now();
        const unread = { head: nothing, status: 0, firstByteMs: 0, left: undefined, tail: nothing };
        pending = { startedMs, onBody, resolve, reject, ...unread };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** Returns whether the response is complete. */
function receive(pending: Pending, chunk: Buffer): boolean {
  if (pending.status !== 0) {
    return receiveBody(pending, chunk);
  }
  pending.head = Buffer.concat([pending.head, chunk]);
  const end = pending.head.indexOf(headEnd);
  if (end === -1) {
    return false;
  }
  const head = pending.head.toString('latin1', 0, end);
  pending.status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  pending.left = length === undefined ? undefined : Number(length);
  const body = pending.head.subarray(end + headEnd.length);
  return body.length > 0 ? receiveBody(pending, body) : pending.left === 0;
}

function receiveBody(pending: Pending, chunk: Buffer): boolean {
  if (pending.firstByteMs === 0) {
    pending.firstByteMs = performance.now();
  }
  pending.onBody?.(chunk);
  if (pending.left !== undefined) {
    pending.left -= chunk.length;
    return pending.left <= 0;
  }
  // The provider never sends these bytes as content, so they mean the end wherever chunks are split.
  const kept = Buffer.concat([pending.tail, chunk.subarray(-lastChunk.length)]);
  pending.tail = kept.subarray(-lastChunk.length);
  return pending.tail.equals(lastChunk);
}

export interface RequestParts {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export function requestBytes(port: number, { path, headers, body }: RequestParts): Buffer {
  const text = JSON.stringify(body);
  const fields = Object.entries({
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
  });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n${text}`);
}
