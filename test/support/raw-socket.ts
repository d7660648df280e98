/**
 * A raw client: it writes any bytes to a socket and parses the received bytes as HTTP responses. Regular HTTP clients
 * refuse to send most of what the server must survive.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Answer } from './contract-check.ts';

export interface RawAnswer extends Answer {
  readonly headers: Readonly<Record<string, string>>;
}

interface Reader {
  readonly method: string;
  resolve(answer: RawAnswer): void;
  reject(error: Error): void;
}

export interface RawOptions {
  /** Reads nothing before the first `answer()`, like a client that sends everything first. */
  readonly readLate?: boolean;
}

export class RawClient {
  readonly #socket: Socket;
  readonly #readers: Reader[] = [];
  #received: Buffer = Buffer.alloc(0);
  /** Buffers received since the last concatenation. */
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  /**
   * The next response is incomplete with fewer bytes. A long response is thus concatenated once, not for every buffer.
   */
  #bytesNeeded = 0;
  #ended: Error | undefined;

  static async open(port: number, { readLate = false }: RawOptions = {}): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    // Paused before the connection is established, so that no byte is read from the kernel.
    socket.pause();
    await once(socket, 'connect');
    return new RawClient(socket, readLate);
  }

  private constructor(socket: Socket, readLate: boolean) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => {
      this.#pieces.push(bytes as Buffer);
      this.#piecesBytes += bytes.length;
      if (this.#received.length + this.#piecesBytes >= this.#bytesNeeded) {
        this.#serve();
      }
    });
    socket.on('end', () => this.#end(new Error('the server closed the connection')));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the connection is closed')));
    // Adding a data listener has started the stream.
    if (readLate) {
      socket.pause();
    } else {
      socket.resume();
    }
  }

  /** Resolves once the kernel has accepted the bytes. Never rejects: the response shows how the server reacted. */
  send(...parts: (string | Uint8Array)[]): Promise<void> {
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)));
    return new Promise((resolve) => {
      this.#socket.write(bytes, () => resolve());
    });
  }

  /** Ends the sending side of the connection, and continues to read. */
  halfClose(): this {
    this.#socket.end();
    return this;
  }

  /**
   * Returns the next response, including interim ones (100). `method` is that of the request: responses to HEAD have no
   * body.
   */
  answer(method = 'GET'): Promise<RawAnswer> {
    this.#socket.resume();
    return new Promise((resolve, reject) => {
      this.#readers.push({ method, resolve, reject });
      this.#serve();
    });
  }

  /** Returns every response until the server closes the connection. Rejects if the server resets it. */
  async answersUntilClosed(): Promise<RawAnswer[]> {
    const answers: RawAnswer[] = [];
    for (;;) {
      try {
        answers.push(await this.answer());
      } catch (error) {
        this.destroy();
        if ((error as NodeJS.ErrnoException).code !== undefined || this.#join().length > 0) {
          throw new Error(`${(error as Error).message}, after ${answers.length} answers`, { cause: error });
        }
        return answers;
      }
    }
  }

  /** Received bytes that do not belong to a response yet. */
  get unread(): string {
    return this.#join().toString('latin1');
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#serve();
  }

  #join(): Buffer {
    if (this.#pieces.length > 0) {
      this.#received = Buffer.concat([this.#received, ...this.#pieces]);
      this.#pieces = [];
      this.#piecesBytes = 0;
    }
    return this.#received;
  }

  #serve(): void {
    for (let reader = this.#readers[0]; reader !== undefined; reader = this.#readers[0]) {
      const received = this.#join();
      const { answer, length } = parseAnswer(received, reader.method);
      this.#bytesNeeded = answer === undefined ? length : 0;
      if (answer !== undefined) {
        this.#received = received.subarray(length);
        this.#readers.shift();
        reader.resolve(answer);
      } else if (this.#ended !== undefined) {
        this.#readers.shift();
        reader.reject(this.#ended);
      } else {
        return;
      }
    }
  }
}

/** Sends these bytes on a new connection, ends the sending side, and returns the responses. */
export async function exchange(port: number, ...parts: (string | Uint8Array)[]): Promise<RawAnswer[]> {
  const client = await RawClient.open(port);
  void client.send(...parts);
  return client.halfClose().answersUntilClosed();
}

/** Returns a request with the headers that any regular client sends; the lines in `headers` are added unchanged. */
export function rawRequest(
  method: string,
  target: string,
  headers: readonly string[] = [],
  body = '',
): string {
  return [`${method} ${target} HTTP/1.1`, 'Host: test', ...headers, '', body].join('\r\n');
}

interface Parsed {
  /** Undefined while the response is incomplete. */
  readonly answer: RawAnswer | undefined;
  /** The size in bytes on the wire, or a lower bound if the response is incomplete. */
  readonly length: number;
}

function parseAnswer(bytes: Buffer, method: string): Parsed {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) {
    return { answer: undefined, length: 0 };
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]+$/.exec(statusLine)?.[1];
  if (status === undefined) {
    throw new Error(`this is not a status line: ${JSON.stringify(statusLine)}`);
  }
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon < 1 || name in headers) {
      throw new Error(`this header is malformed or repeated: ${JSON.stringify(line)}`);
    }
    headers[name] = line.slice(colon + 1).trim();
  }
  const hasBody = method !== 'HEAD' && Number(status) >= 200 && status !== '204';
  const bodyStart = headEnd + 4;
  const body = hasBody ? bodyOf(bytes.subarray(bodyStart), headers) : { bytes: Buffer.alloc(0), length: 0 };
  return {
    answer: body.bytes && { status: Number(status), headers, text: body.bytes.toString('utf8') },
    length: bodyStart + body.length,
  };
}

interface Body {
  /** Undefined while the body is incomplete. */
  readonly bytes: Buffer | undefined;
  /** The size in bytes on the wire, or a lower bound if the body is incomplete. */
  readonly length: number;
}

function bodyOf(bytes: Buffer, headers: Readonly<Record<string, string>>): Body {
  const given = headers['content-length'];
  if (headers['transfer-encoding'] === 'chunked' && given === undefined) {
    return chunkedBody(bytes);
  }
  if (given === undefined || headers['transfer-encoding'] !== undefined) {
    throw new Error('a response without one plain length');
  }
  const length = Number(given);
  return { bytes: bytes.length < length ? undefined : bytes.subarray(0, length), length };
}

function chunkedBody(bytes: Buffer): Body {
  const notWhole = { bytes: undefined, length: 0 };
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) {
      return notWhole;
    }
    const size = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9a-f]+$/i.test(size)) {
      throw new Error(`this is not the size of a chunk: ${JSON.stringify(size)}`);
    }
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    if (bytes.length < end + 2) {
      return notWhole;
    }
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') {
      throw new Error('a chunk is not as long as it says');
    }
    if (end === start) {
      return { bytes: Buffer.concat(chunks), length: end + 2 };
    }
    chunks.push(bytes.subarray(start, end));
    at = end + 2;
  }
}
