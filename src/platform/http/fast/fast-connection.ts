/** One connection of the fast HTTP path: its unread bytes, its request in progress, and the handover to Node. */
import { IncomingMessage, ServerResponse, STATUS_CODES, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { HttpRequest, NodeMessages } from '../message/http-request.ts';
import type { Reply } from '../message/reply.ts';
import { closeGently } from '../message/send.ts';
import type { PlainHead } from './plain-head.ts';
import { type PlainConnection, PlainRequest } from './plain-request.ts';

/** The response to a request that the fast handler has taken. One of its methods must be called exactly once. */
export interface FastResponder {
  readonly socket: Socket;
  /** Sends 200 with this body, and with these header lines in addition to those of every response. Both must be ASCII. */
  sendOk(headerLines: string, body: string): void;
  /**
   * Hands the request to the pipeline. `beforehand` gets it first and may attach state for the route's handler, which finds that
   * state by `HandlerContext.requestIdentity`.
   */
  fallBackToPipeline(beforehand?: (request: HttpRequest) => void): void;
}

export interface PreparedHead {
  readonly head: PlainHead;
  /** Length of the head, including the empty line that ends it. */
  readonly bytes: number;
  /** The value that the fast handler's `prepare` returned. */
  readonly prepared: unknown;
}

/** Larger requests are handed over to Node, because this path buffers requests before the caller is identified. */
const requestBytesMax = 1_048_576;
const noBytes: Buffer = Buffer.alloc(0);

/** A request that has arrived in part. */
interface PartialRequest {
  /** A buffer with the length of the whole request, of which `size` bytes have arrived. */
  readonly bytes: Buffer;
  size: number;
}

/** The operations of the server that a connection uses. */
export interface FastConnectionHost {
  headOf(bytes: Buffer): PreparedHead | undefined;
  take(known: PreparedHead, body: Buffer): void;
  serve(request: PlainRequest): void;
  /** Hands the connection over to Node. */
  parse(): void;
  timedOut(): void;
  /** Called when the connection is closed or handed over. */
  left(): void;
  /** Returns the header lines that Node would add to its responses. */
  commonLines(): string;
  /** Takes memory for an arriving request. Returns false and takes nothing if there is not enough. */
  tryTakeMemory(bytes: number): boolean;
  releaseMemory(bytes: number): void;
  /** Returns true once the server stops. Each response is then the last one of its connection, with `Connection: close`. */
  isClosing(): boolean;
  readonly keepAliveMs: number;
  /** Time after which an incomplete body is left to Node, which has its own timeouts. */
  readonly bodyWithinMs: number;
  readonly firstByteWithinMs: number;
  /** Time after which the connection is closed if its socket is inactive while responses wait: the client does not read. */
  readonly stalledMs: number;
}

export class FastConnection implements FastResponder, PlainConnection {
  readonly socket: Socket;
  readonly #host: FastConnectionHost;
  /** Bytes that were read and do not belong to the current request. */
  #bytes = noBytes;
  /** The head of the request in progress, or of one whose body is incomplete. */
  #current: PreparedHead | undefined;
  /** The request with this head while its body is incomplete. */
  #partial: PartialRequest | undefined;
  #body = noBytes;
  /** Node's response, while the pipeline uses one. */
  #response: ServerResponse | undefined;
  #isInProgress = false;
  #isFresh = true;
  #hasEnded = false;
  /** True while the socket has the timeout for clients that do not read. */
  #mayStall = false;
  /** Time of the last change of the connection's state. */
  #sinceMs = performance.now();

  constructor(socket: Socket, host: FastConnectionHost) {
    this.socket = socket;
    this.#host = host;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  readonly #onData = (chunk: Buffer) => {
    this.#isFresh = false;
    if (this.#partial !== undefined) {
      this.#collect(this.#partial, chunk);
      return;
    }
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (this.#isInProgress || this.socket.writableNeedDrain) {
      this.socket.pause();
    } else if (this.socket.writableLength > 0) {
      // Paused, because each arriving byte would restart the timeout for clients that do not read.
      this.socket.pause();
      this.socket.write('', this.#onSent);
    } else {
      this.#proceed();
    }
  };

  readonly #onSent = () => {
    if (!this.#isInProgress && !this.socket.writableNeedDrain && !this.socket.destroyed) {
      this.#watchUnsent();
      this.#proceed();
    }
  };

  readonly #onEnd = () => {
    this.#hasEnded = true;
    if (!this.#isInProgress && !this.socket.writableNeedDrain) {
      this.#proceed();
    }
  };

  readonly #onDrain = () => {
    this.#watchUnsent();
    if (this.#response !== undefined) {
      this.#response.emit('drain');
    } else if (!this.#isInProgress) {
      this.#proceed();
    }
  };

  /** Forwards the timeout to the response, as Node's server does. Without a response, the timeout is that for clients that do not read. */
  readonly #onTimeout = () => {
    if (this.#response !== undefined) {
      this.#response.emit('timeout', this.socket);
    } else if (this.socket.writableLength > 0) {
      this.socket.destroy();
    } else {
      this.#watchUnsent();
    }
  };

  /** An error also closes the socket. Without a listener it would end the process. */
  readonly #onError = () => undefined;

  readonly #onClose = () => {
    this.#takePartial();
    this.#host.left();
  };

  /** Starts the next request if it is complete. */
  #proceed(): void {
    if (this.#partial !== undefined) {
      if (this.#hasEnded) {
        this.#handOver();
      }
      return;
    }
    if (this.#bytes.length === 0) {
      if (this.#hasEnded) {
        this.socket.end();
      } else if (this.socket.isPaused()) {
        this.socket.resume();
      }
      return;
    }
    const current = this.#host.headOf(this.#bytes);
    const end = current === undefined ? 0 : current.bytes + current.head.bodyBytes;
    if (current === undefined || end > requestBytesMax) {
      this.#handOver();
    } else if (this.#bytes.length >= end) {
      const request = this.#bytes.subarray(0, end);
      this.#bytes = this.#bytes.length === end ? noBytes : this.#bytes.subarray(end);
      this.#begin(current, request);
    } else if (this.#hasEnded || !this.#host.tryTakeMemory(end)) {
      this.#handOver();
    } else {
      this.#current = current;
      this.#sinceMs = performance.now();
      this.#partial = { bytes: Buffer.allocUnsafe(end), size: 0 };
      this.#collect(this.#partial, this.#bytes);
      this.socket.resume();
    }
  }

  #begin(current: PreparedHead, request: Buffer): void {
    this.#isInProgress = true;
    this.#current = current;
    this.#body = request.subarray(current.bytes);
    this.#host.take(current, this.#body);
  }

  /**
   * Copies a chunk to its place in the request. Each byte is copied once; joining the chunks as they arrive would copy the first
   * ones repeatedly.
   */
  #collect(partial: PartialRequest, chunk: Buffer): void {
    const copied = chunk.copy(partial.bytes, partial.size);
    partial.size += copied;
    this.#bytes = noBytes;
    if (partial.size === partial.bytes.length) {
      this.#takePartial();
      this.#bytes = copied === chunk.length ? noBytes : chunk.subarray(copied);
      this.#begin(this.#current as PreparedHead, partial.bytes);
    }
  }

  /** Returns the bytes of the incomplete request, and frees its memory. */
  #takePartial(): Buffer | undefined {
    const partial = this.#partial;
    if (partial === undefined) {
      return undefined;
    }
    this.#partial = undefined;
    this.#host.releaseMemory(partial.bytes.length);
    return partial.bytes.subarray(0, partial.size);
  }

  sendOk(headerLines: string, body: string): void {
    this.socket.write(
      `HTTP/1.1 200 OK\r\n${headerLines}content-length: ${body.length}\r\n${this.#host.commonLines()}\r\n${body}`,
      'latin1',
    );
    this.#answered();
  }

  /** Writes the response in the same form as Node does. */
  answer(status: number, headers: Reply['headers'], body: string): void {
    const bytes = Buffer.byteLength(body);
    const length = status === 204 || status === 304 ? '' : `content-length: ${bytes}\r\n`;
    this.socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${headerLinesOf(headers)}${length}${this.#host.commonLines()}\r\n${body}`,
      bytes === body.length ? 'latin1' : 'utf8',
    );
    this.#answered();
  }

  fallBackToPipeline(beforehand?: (request: HttpRequest) => void): void {
    const { head } = this.#current as PreparedHead;
    const request = new PlainRequest(this, head, this.#body);
    beforehand?.(request);
    this.#host.serve(request);
  }

  messagesOf(head: PlainHead, body: Buffer): NodeMessages {
    // Node's response has its own timeout.
    this.#stopWatching();
    const request = requestOf(head, body, this.socket);
    const response = new ServerResponse(request);
    // Node's server sets this private field too; no option exists for it.
    Object.assign(response, { _keepAliveTimeout: this.#host.keepAliveMs });
    response.shouldKeepAlive = !this.#host.isClosing();
    response.assignSocket(this.socket);
    response.once('finish', () => {
      response.detachSocket(this.socket);
      this.socket.setTimeout(0);
      response.emit('close');
      this.#response = undefined;
      this.#answered();
    });
    this.#response = response;
    if (this.socket.destroyed) {
      // The client has disconnected, and a closed socket emits no second `close` event.
      response.destroy();
    }
    return { request, response };
  }

  #answered(): void {
    this.#isInProgress = false;
    this.#current = undefined;
    this.#body = noBytes;
    this.#sinceMs = performance.now();
    this.#watchUnsent();
    if (this.#host.isClosing()) {
      this.#leave();
      closeGently(this.socket);
    } else if (!this.socket.writableNeedDrain && !this.socket.destroyed) {
      this.#proceed();
    }
  }

  /**
   * Starts the timeout for clients that do not read, or stops it if everything was sent. It is a timeout of the socket, because
   * only Node sees whether a large response makes progress. Most responses are sent immediately and need no timer.
   */
  #watchUnsent(): void {
    if (this.socket.writableLength === 0) {
      this.#stopWatching();
    } else if (!this.#mayStall) {
      this.#mayStall = true;
      this.socket.setTimeout(this.#host.stalledMs);
    }
  }

  #stopWatching(): void {
    if (this.#mayStall) {
      this.#mayStall = false;
      this.socket.setTimeout(0);
    }
  }

  /** Hands the connection over to Node, with all bytes that were read but not answered. */
  #handOver(): void {
    const { socket } = this;
    const bytes = this.#takePartial() ?? this.#bytes;
    this.#leave();
    socket.pause();
    if (this.#hasEnded) {
      // `unshift` is not possible after the end of the stream.
      this.#host.parse();
      socket.emit('data', bytes);
      socket.emit('end');
    } else {
      socket.unshift(bytes);
      this.#host.parse();
      socket.resume();
    }
  }

  #leave(): void {
    const { socket } = this;
    this.#stopWatching();
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('timeout', this.#onTimeout);
    socket.off('close', this.#onClose);
    this.#host.left();
  }

  /** Ends or hands over the connection if its current state has lasted too long. */
  enforceTimeouts(nowMs: number): void {
    const lastedMs = nowMs - this.#sinceMs;
    if (this.#isInProgress || this.socket.writableLength > 0) {
      return;
    }
    if (this.#current !== undefined) {
      if (lastedMs >= this.#host.bodyWithinMs) {
        this.#handOver();
      }
    } else if (this.#isFresh) {
      if (lastedMs >= this.#host.firstByteWithinMs) {
        this.#leave();
        this.#host.timedOut();
      }
    } else if (lastedMs >= this.#host.keepAliveMs) {
      this.socket.destroy();
    }
  }

  closeIfIdle(): void {
    if (!this.#isInProgress && this.#current === undefined && this.socket.writableLength === 0) {
      this.socket.destroy();
    }
  }
}

function headerLinesOf(headers: Reply['headers']): string {
  let lines = '';
  for (const name of Object.keys(headers)) {
    const value = headers[name] as string | string[];
    for (const one of typeof value === 'string' ? [value] : value) {
      validateHeaderValue(name, one);
      lines += `${name}: ${one}\r\n`;
    }
  }
  return lines;
}

/** Returns the request as Node's parser would create it, with a complete body. */
function requestOf(head: PlainHead, body: Buffer, socket: Socket): IncomingMessage {
  const request = new IncomingMessage(socket);
  request.method = head.method;
  request.url = head.target;
  request.httpVersion = '1.1';
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.headers = { ...head.headers };
  request.rawHeaders = [...head.rawHeaders];
  request.complete = true;
  request.push(body);
  request.push(null);
  return request;
}
