/** One connection of the lane: what was read of it, the request that is under way, and how it leaves. */
import { IncomingMessage, ServerResponse, STATUS_CODES, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { HttpRequest, NodeMessages } from '../message/http-request.ts';
import type { Reply } from '../message/reply.ts';
import { closeGently } from '../message/send.ts';
import type { PlainHead } from './plain-head.ts';
import { type PlainConnection, PlainRequest } from './plain-request.ts';

/** What a shortcut is given to answer a request. One of the two has to be called, once. */
export interface FastResponder {
  readonly socket: Socket;
  /** With 200, these lines of headers beside those that every response has, and this body. All of it is ASCII. */
  sendOk(headerLines: string, body: string): void;
  /**
   * Hands the request to the pipeline. `beforehand` receives it first: state of the fast handler can be attached to it, for
   * the route's handler to find by `HandlerContext.requestIdentity`.
   */
  fallBackToPipeline(beforehand?: (request: HttpRequest) => void): void;
}

export interface KnownHead {
  readonly head: PlainHead;
  /** With the empty line behind it. */
  readonly bytes: number;
  readonly prepared: unknown;
}

/** Larger requests are not held here: nobody has asked yet who sends them. */
const requestBytesMax = 65_536;
/** A body that is not there by then is waited for by Node, with its timeouts. */
const bodyWithinMs = 250;
const nothing: Buffer = Buffer.alloc(0);

/** What a connection needs of its lane. */
export interface FastConnectionHost {
  headOf(bytes: Buffer): KnownHead | undefined;
  take(known: KnownHead, body: Buffer): void;
  serve(request: PlainRequest): void;
  /** Gives the connection to Node. */
  parse(): void;
  timedOut(): void;
  left(): void;
  /** Headers that Node gives its responses by itself. */
  commonLines(): string;
  /** The server takes no more: each answer is the last one of its connection, and says so. */
  isClosing(): boolean;
  readonly keepAliveMs: number;
  readonly firstByteWithinMs: number;
}

export class FastConnection implements FastResponder, PlainConnection {
  readonly socket: Socket;
  readonly #lane: FastConnectionHost;
  /** What was read and belongs to no request that is under way. */
  #bytes = nothing;
  /** The request that is under way, or whose body is not whole yet. */
  #current: KnownHead | undefined;
  #body = nothing;
  /** Of the pipeline, while it makes one. */
  #response: ServerResponse | undefined;
  #isUnderWay = false;
  #isFresh = true;
  #hasEnded = false;
  /** Since when it has been as it is. */
  #sinceMs = performance.now();

  constructor(socket: Socket, lane: FastConnectionHost) {
    this.socket = socket;
    this.#lane = lane;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  readonly #onData = (chunk: Buffer) => {
    this.#isFresh = false;
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (this.#isUnderWay || this.socket.writableNeedDrain) {
      this.socket.pause();
    } else {
      this.#proceed();
    }
  };

  readonly #onEnd = () => {
    this.#hasEnded = true;
    if (!this.#isUnderWay && !this.socket.writableNeedDrain) {
      this.#proceed();
    }
  };

  readonly #onDrain = () => {
    if (this.#response !== undefined) {
      this.#response.emit('drain');
    } else if (!this.#isUnderWay) {
      this.#proceed();
    }
  };

  /** As Node's server does: whoever set it on the response is told. */
  readonly #onTimeout = () => void this.#response?.emit('timeout', this.socket);

  /** Closes it too; here it would end the process. */
  readonly #onError = () => undefined;

  readonly #onClose = () => this.#lane.left();

  /** The next request, where there is a whole one. */
  #proceed(): void {
    if (this.#bytes.length === 0) {
      if (this.#hasEnded) {
        this.socket.end();
      } else if (this.socket.isPaused()) {
        this.socket.resume();
      }
      return;
    }
    const isNew = this.#current === undefined;
    this.#current ??= this.#lane.headOf(this.#bytes);
    const current = this.#current;
    const end = current === undefined ? 0 : current.bytes + current.head.bodyBytes;
    if (current === undefined || end > requestBytesMax) {
      this.#handOver();
    } else if (this.#bytes.length >= end) {
      this.#begin(current, end);
    } else if (this.#hasEnded) {
      this.#handOver();
    } else if (isNew) {
      this.#sinceMs = performance.now();
      this.socket.resume();
    }
  }

  #begin(current: KnownHead, end: number): void {
    this.#isUnderWay = true;
    this.#body = this.#bytes.subarray(current.bytes, end);
    this.#bytes = this.#bytes.length === end ? nothing : this.#bytes.subarray(end);
    this.#lane.take(current, this.#body);
  }

  sendOk(headerLines: string, body: string): void {
    this.socket.write(
      `HTTP/1.1 200 OK\r\n${headerLines}content-length: ${body.length}\r\n${this.#lane.commonLines()}\r\n${body}`,
      'latin1',
    );
    this.#answered();
  }

  /** As Node would write it. */
  answer(status: number, headers: Reply['headers'], body: string): void {
    const bytes = Buffer.byteLength(body);
    const length = status === 204 || status === 304 ? '' : `content-length: ${bytes}\r\n`;
    this.socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${linesOf(headers)}${length}${this.#lane.commonLines()}\r\n${body}`,
      bytes === body.length ? 'latin1' : 'utf8',
    );
    this.#answered();
  }

  fallBackToPipeline(beforehand?: (request: HttpRequest) => void): void {
    const { head } = this.#current as KnownHead;
    const request = new PlainRequest(this, head, this.#body);
    beforehand?.(request);
    this.#lane.serve(request);
  }

  messagesOf(head: PlainHead, body: Buffer): NodeMessages {
    const request = requestOf(head, body, this.socket);
    const response = new ServerResponse(request);
    // As Node's server does; there is no option for it.
    Object.assign(response, { _keepAliveTimeout: this.#lane.keepAliveMs });
    response.shouldKeepAlive = !this.#lane.isClosing();
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
      // Nobody is there to read it, and a closed socket does not say so again.
      response.destroy();
    }
    return { request, response };
  }

  #answered(): void {
    this.#isUnderWay = false;
    this.#current = undefined;
    this.#body = nothing;
    this.#sinceMs = performance.now();
    if (this.#lane.isClosing()) {
      this.#leave();
      closeGently(this.socket);
    } else if (!this.socket.writableNeedDrain && !this.socket.destroyed) {
      this.#proceed();
    }
  }

  /** To Node, with all that was read and not answered. */
  #handOver(): void {
    const { socket } = this;
    this.#leave();
    socket.pause();
    if (this.#hasEnded) {
      // Nothing can be put back into a stream that has ended.
      this.#lane.parse();
      socket.emit('data', this.#bytes);
      socket.emit('end');
    } else {
      socket.unshift(this.#bytes);
      this.#lane.parse();
      socket.resume();
    }
  }

  #leave(): void {
    const { socket } = this;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('timeout', this.#onTimeout);
    socket.off('close', this.#onClose);
    this.#lane.left();
  }

  /** Ends what has lasted too long. */
  enforceTimeouts(nowMs: number): void {
    const lastedMs = nowMs - this.#sinceMs;
    if (this.#isUnderWay || this.socket.writableLength > 0) {
      return;
    }
    if (this.#current !== undefined) {
      if (lastedMs >= bodyWithinMs) {
        this.#handOver();
      }
    } else if (this.#isFresh) {
      if (lastedMs >= this.#lane.firstByteWithinMs) {
        this.#leave();
        this.#lane.timedOut();
      }
    } else if (lastedMs >= this.#lane.keepAliveMs) {
      this.socket.destroy();
    }
  }

  closeIfIdle(): void {
    if (!this.#isUnderWay && this.#current === undefined && this.socket.writableLength === 0) {
      this.socket.destroy();
    }
  }
}

function linesOf(headers: Reply['headers']): string {
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

/** A request as Node's parser would have made it, all of it there. */
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
