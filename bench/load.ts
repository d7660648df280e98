/**
 * The load generator, in three forms: a closed loop (a fixed number of connections, each sending its next request after a
 * response), an open loop (requests on a schedule, independent of the responses), and a list of requests that are sent once
 * each. Written on bare sockets because it shares the cores with the server under test: autocannon, tried on two cores, left
 * the bare server idle for about half of the time, and an idle floor makes every ratio too favourable. Any response other than
 * 2xx fails the whole run, since an error is often faster than a success.
 */
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadOptions {
  readonly port: number;
  /** A constant request, or a function that creates each request. */
  readonly request: LoadRequest | (() => LoadRequest);
  readonly connections: number;
  readonly seconds: number;
  /** Additional status that is not a failure. */
  readonly alsoFine?: number | undefined;
}

export interface LoadResult {
  readonly answers: number;
  readonly elapsedMs: number;
  /** Latencies of all responses, ascending. */
  readonly latenciesMs: readonly number[];
  /** Responses with the status `alsoFine`. */
  readonly others: number;
}

/** Maximum time to wait for outstanding responses after the end. */
const lastAnswerMs = 10_000;
const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('\r\n0\r\n\r\n');
const nothing: Buffer = Buffer.alloc(0);

export async function load(options: LoadOptions): Promise<LoadResult> {
  const { port, request, connections, seconds, alsoFine } = options;
  const next = bytesOf(port, request);
  const latenciesMs: number[] = [];
  let others = 0;
  const result = await timed(latenciesMs, { port, connections, seconds }, async (opened) => {
    const endMs = performance.now() + seconds * 1_000;
    await Promise.all(
      opened.map(async (connection) => {
        let sentMs = performance.now();
        while (sentMs < endMs) {
          others += (await connection.ask(next(), alsoFine)) === alsoFine ? 1 : 0;
          const answeredMs = performance.now();
          latenciesMs.push(answeredMs - sentMs);
          sentMs = answeredMs;
        }
      }),
    );
  });
  return { ...result, others };
}

export interface ScheduledLoadOptions extends LoadOptions {
  readonly perSecond: number;
  /** Called once the connections are open. The schedule starts when its promise resolves. */
  ready?(): Promise<void>;
}

/**
 * The open loop. Latencies count from the time at which a request was due, so that a request that waits for a slow response
 * counts as slow too. The schedule is checked once per millisecond, which affects both contenders equally.
 */
export async function loadOnSchedule(options: ScheduledLoadOptions): Promise<LoadResult> {
  const { port, request, seconds, perSecond } = options;
  const next = bytesOf(port, request);
  const latenciesMs: number[] = [];
  return timed(latenciesMs, options, async (idle) => {
    await options.ready?.();
    const startedMs = performance.now();
    const total = Math.ceil(seconds * perSecond);
    /** Due times of requests that wait for an idle connection. */
    const overdueMs: number[] = [];
    const busy = new Set<Promise<void>>();
    let failure: Error | undefined;
    const use = async (connection: Connection, firstDueMs: number) => {
      for (let dueMs: number | undefined = firstDueMs; dueMs !== undefined; dueMs = overdueMs.shift()) {
        await connection.ask(next());
        latenciesMs.push(performance.now() - dueMs);
      }
      idle.push(connection);
    };
    for (let sent = 0; sent < total && failure === undefined; ) {
      const dueMs = startedMs + (sent * 1_000) / perSecond;
      if (dueMs > performance.now()) {
        await pause(1);
        continue;
      }
      sent += 1;
      const connection = idle.shift();
      if (connection === undefined) {
        overdueMs.push(dueMs);
      } else {
        const using = use(connection, dueMs)
          .catch((error: Error) => {
            failure = error;
          })
          .finally(() => busy.delete(using));
        busy.add(using);
      }
    }
    await Promise.all(busy);
    if (failure !== undefined) {
      throw failure;
    }
  });
}

export interface EachOptions {
  readonly port: number;
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  /** Additional status that is not a failure. */
  readonly alsoFine?: number;
}

export interface EachResult {
  readonly statuses: readonly number[];
  readonly elapsedMs: number;
}

/** Sends each request once, with one request in flight per connection. */
export async function sendEach(options: EachOptions): Promise<EachResult> {
  const { port, requests, connections, alsoFine } = options;
  const waiting = requests.map((request) => requestBytes(port, request)).reverse();
  return withConnections(port, connections, async (opened) => {
    const statuses: number[] = [];
    const startedMs = performance.now();
    await Promise.all(
      opened.map(async (connection) => {
        for (let bytes = waiting.pop(); bytes !== undefined; bytes = waiting.pop()) {
          statuses.push(await connection.ask(bytes, alsoFine));
        }
      }),
    );
    return { statuses, elapsedMs: performance.now() - startedMs };
  });
}

export function percentile(ascending: readonly number[], percent: number): number {
  const value = ascending[Math.ceil((ascending.length * percent) / 100) - 1];
  if (value === undefined) {
    throw new Error('there were no answers');
  }
  return value;
}

async function timed(
  latenciesMs: number[],
  { port, connections, seconds }: Omit<LoadOptions, 'request'>,
  work: (opened: Connection[]) => Promise<void>,
): Promise<LoadResult> {
  return withConnections(port, connections, async (opened) => {
    const startedMs = performance.now();
    const tooLong = setTimeout(
      () => {
        for (const connection of opened) {
          connection.give(new Error(`no answer within ${lastAnswerMs} ms of the end`));
        }
      },
      seconds * 1_000 + lastAnswerMs,
    );
    try {
      await work([...opened]);
    } finally {
      clearTimeout(tooLong);
    }
    const elapsedMs = performance.now() - startedMs;
    return {
      answers: latenciesMs.length,
      elapsedMs,
      latenciesMs: latenciesMs.sort((a, b) => a - b),
      others: 0,
    };
  });
}

async function withConnections<Result>(
  port: number,
  count: number,
  work: (opened: Connection[]) => Promise<Result>,
): Promise<Result> {
  const opened = await Promise.all(Array.from({ length: count }, () => open(port)));
  try {
    return await work(opened);
  } finally {
    for (const connection of opened) {
      connection.close();
    }
  }
}

function bytesOf(port: number, request: LoadOptions['request']): () => Buffer {
  if (typeof request === 'function') {
    return () => requestBytes(port, request());
  }
  const bytes = requestBytes(port, request);
  return () => bytes;
}

function requestBytes(port: number, { method, path, headers, body }: LoadRequest): Buffer {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const fields = Object.entries({ host: `127.0.0.1:${port}`, ...headers, ...length });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body ?? ''}`);
}

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(new Connection(socket));
    });
  });
}

/** Connection with one request in flight at a time. */
class Connection {
  readonly #socket: Socket;
  #received = nothing;
  #alsoFine: number | undefined;
  #asked: { resolve(status: number): void; reject(error: Error): void } | undefined;
  /** Reason why the connection is closed. */
  #broken: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', (error) => this.give(error));
    socket.on('close', () => this.give(new Error('the server closed a connection')));
    socket.on('data', (chunk) => this.#take(chunk));
  }

  /** Resolves with the status: 2xx or `alsoFine`. */
  ask(request: Buffer, alsoFine?: number): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#broken !== undefined) {
        reject(this.#broken);
        return;
      }
      this.#alsoFine = alsoFine;
      this.#asked = { resolve, reject };
      this.#socket.write(request);
    });
  }

  give(error: Error): void {
    this.#broken ??= error;
    this.#asked?.reject(this.#broken);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const status = examine(this.#received);
    if (status === 'incomplete') {
      return;
    }
    if (status === 'bad' || !((status >= 200 && status < 300) || status === this.#alsoFine)) {
      const start = this.#received.toString('utf8', 0, 1_000);
      this.give(new Error(`the server did not answer 2xx and a length:\n${start}`));
      return;
    }
    this.#received = nothing;
    this.#asked?.resolve(status);
  }
}

/**
 * Both servers declare the length of every response that is not a stream, and nothing may follow it, since one request is in flight
 * at a time.
 */
function examine(received: Buffer): 'incomplete' | 'bad' | number {
  const end = received.indexOf(headEnd);
  if (end === -1) {
    return 'incomplete';
  }
  const head = received.toString('latin1', 0, end);
  if (head.startsWith('HTTP/1.1 ') && /\r\ntransfer-encoding: chunked/i.test(head)) {
    const isEnded = received.subarray(-lastChunk.length).equals(lastChunk);
    return isEnded ? Number(head.slice(9, 12)) : 'incomplete';
  }
  const bodyLength = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (bodyLength === undefined || !head.startsWith('HTTP/1.1 ')) {
    return 'bad';
  }
  const missing = end + headEnd.length + Number(bodyLength) - received.length;
  return missing > 0 ? 'incomplete' : missing === 0 ? Number(head.slice(9, 12)) : 'bad';
}
