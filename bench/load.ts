/**
 * The load: a fixed number of connections, each sending its next request when the last one is answered.
 *
 * Written on bare sockets because it shares the cores with the server under test: autocannon, tried on two cores, left
 * the bare server idle for about half of the time, and against an idling floor every ratio comes out too good.
 * Anything but a 2xx answer fails the whole run; an error is often faster than an answer and must not pass for speed.
 */
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadOptions {
  readonly port: number;
  readonly request: LoadRequest;
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly answers: number;
  readonly elapsedMs: number;
  /** Of every answer, ascending. */
  readonly latenciesMs: readonly number[];
}

/** How long after the end an answer may still be outstanding. */
const lastAnswerMs = 10_000;
const headEnd = Buffer.from('\r\n\r\n');
const nothing: Buffer = Buffer.alloc(0);

export async function load({ port, request, connections, seconds }: LoadOptions): Promise<LoadResult> {
  const bytes = requestBytes(port, request);
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  const overdue = setTimeout(
    () => {
      for (const socket of sockets) {
        socket.destroy(new Error(`no answer within ${lastAnswerMs} ms of the end`));
      }
    },
    seconds * 1_000 + lastAnswerMs,
  );
  try {
    await Promise.all(sockets.map((socket) => drive(socket, bytes, endMs, latenciesMs)));
  } finally {
    clearTimeout(overdue);
    for (const socket of sockets) {
      socket.destroy();
    }
  }
  const elapsedMs = performance.now() - startedMs;
  return { answers: latenciesMs.length, elapsedMs, latenciesMs: latenciesMs.sort((a, b) => a - b) };
}

export function percentile(ascending: readonly number[], percent: number): number {
  const value = ascending[Math.ceil((ascending.length * percent) / 100) - 1];
  if (value === undefined) {
    throw new Error('there were no answers');
  }
  return value;
}

function requestBytes(port: number, { method, path, headers, body }: LoadRequest): Buffer {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const fields = Object.entries({ host: `127.0.0.1:${port}`, ...headers, ...length });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body ?? ''}`);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/** Asks again and again over one connection; resolves when the first answer after `endMs` is in. */
function drive(socket: Socket, request: Buffer, endMs: number, latenciesMs: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = nothing;
    let sentMs = performance.now();
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answer = examine(received);
      if (answer === 'incomplete') {
        return;
      }
      if (answer === 'bad') {
        reject(
          new Error(`the server did not answer 2xx and a length:\n${received.toString('utf8', 0, 1_000)}`),
        );
        return;
      }
      received = nothing;
      const nowMs = performance.now();
      latenciesMs.push(nowMs - sentMs);
      if (nowMs >= endMs) {
        resolve();
        return;
      }
      sentMs = nowMs;
      socket.write(request);
    });
    socket.write(request);
  });
}

/** Both servers declare the length of every answer, and nothing may follow it: one request is out at a time. */
function examine(received: Buffer): 'incomplete' | 'good' | 'bad' {
  const end = received.indexOf(headEnd);
  if (end === -1) {
    return 'incomplete';
  }
  const head = received.toString('latin1', 0, end);
  const bodyLength = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (bodyLength === undefined || !head.startsWith('HTTP/1.1 2')) {
    return 'bad';
  }
  const missing = end + headEnd.length + Number(bodyLength) - received.length;
  return missing > 0 ? 'incomplete' : missing === 0 ? 'good' : 'bad';
}
