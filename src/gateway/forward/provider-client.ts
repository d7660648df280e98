/** Sends requests to providers over pooled connections, to allowed addresses only, with the timeouts of each connection. */
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher, errors } from 'undici';
import { type Connection, urlBelow } from '../../capabilities/integration/connections/index.ts';
import { mayConnect } from '../../platform/outbound/addresses.ts';
import {
  AddressNotAllowed,
  checkedLookup,
  type LookupOptions,
} from '../../platform/outbound/checked-lookup.ts';
import type { Cancellation } from './cancellation.ts';
import { type BodySource, type Decoder, decodedBody, ReceivedBody } from './response-body.ts';

export interface ProviderRequest {
  readonly connection: Connection;
  readonly method: string;
  /** Appended to the base URL of the connection. */
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer | undefined;
  /** Cancels the request and its response when the process stops. */
  readonly cut?: Cancellation | undefined;
}

export interface ProviderResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, decompressed unless `isEncoded`. It fails if the response breaks off or is silent for too long. */
  readonly body: BodySource;
  /** True if the body has an unknown encoding. Neither usage nor output can then be read from it. */
  readonly isEncoded: boolean;
}

export interface ProviderClient {
  send(request: ProviderRequest): Promise<ProviderResponse>;
  close(): Promise<void>;
}

/** The provider could not be reached, or did not start a response in time. */
export class ProviderUnreachable extends Error {
  readonly isTimeout: boolean;
  /** True if the provider may have accepted the request and may charge for it. */
  readonly mayBeCharged: boolean;

  constructor(message: string, isTimeout: boolean, mayBeCharged = false) {
    super(message);
    this.name = 'ProviderUnreachable';
    this.isTimeout = isTimeout;
    this.mayBeCharged = mayBeCharged;
  }
}

/** Shorter than the time of about a minute after which providers close idle connections. */
const keepAliveMs = 30_000;

/** The parsed URL of a path at a connection, cached so that it is not parsed for each request. */
interface Target {
  readonly host: string;
  readonly origin: string;
  readonly path: string;
  readonly isAllowed: boolean;
}

/** Maximum number of cached paths per connection. Paths of stored responses contain ids. */
const targetsMax = 16;

export function createProviderClient(options: LookupOptions): ProviderClient {
  const lookup = checkedLookup(options);
  /** Agents by connect timeout, which undici sets per pool. */
  const agents = new Map<number, Agent>();
  const targets = new WeakMap<Connection, Map<string, Target>>();

  function agentOf({ timeouts }: Connection): Agent {
    const { connectMs } = timeouts;
    let agent = agents.get(connectMs);
    if (agent === undefined) {
      agent = new Agent({
        connect: { lookup, timeout: connectMs },
        keepAliveTimeout: keepAliveMs,
        pipelining: 1,
      });
      agents.set(connectMs, agent);
    }
    return agent;
  }

  function targetOf(connection: Connection, path: string): Target {
    let known = targets.get(connection);
    const found = known?.get(path);
    if (found !== undefined) {
      return found;
    }
    const url = urlBelow(connection, path);
    const target = {
      host: url.host,
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      isAllowed: mayConnect(url, options),
    };
    if (known === undefined) {
      known = new Map();
      targets.set(connection, known);
    }
    if (known.size < targetsMax) {
      known.set(path, target);
    }
    return target;
  }

  return {
    send({ connection, method, path, headers, body, cut }) {
      const target = targetOf(connection, path);
      if (!target.isAllowed) {
        const { message } = new AddressNotAllowed(`${target.host} is not allowed`);
        return Promise.reject(new ProviderUnreachable(message, false));
      }
      return new Promise((resolve, reject) => {
        agentOf(connection).dispatch(
          {
            origin: target.origin,
            path: target.path,
            method: method as Dispatcher.HttpMethod,
            headers,
            body: body ?? null,
            headersTimeout: connection.timeouts.firstByteMs,
            bodyTimeout: connection.timeouts.idleMs,
          },
          new ResponseReceiver(target.host, cut, resolve, reject),
        );
      });
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

/** Receives one response. It resolves when the head has arrived; the body follows. */
class ResponseReceiver implements Dispatcher.DispatchHandler {
  readonly #host: string;
  readonly #cut: Cancellation | undefined;
  readonly #resolve: (response: ProviderResponse) => void;
  readonly #reject: (error: ProviderUnreachable) => void;
  readonly #onCut = () => {
    this.#reject(unreachable(new Error('cut'), this.#host, this.#isSent));
    this.#body?.broken();
    this.#controller?.abort(new Error('the process stops'));
  };
  #controller: Dispatcher.DispatchController | undefined;
  #body: ReceivedBody | undefined;
  /** True once the provider may have received a part of the request. */
  #isSent = false;

  constructor(
    host: string,
    cut: Cancellation | undefined,
    resolve: (response: ProviderResponse) => void,
    reject: (error: ProviderUnreachable) => void,
  ) {
    this.#host = host;
    this.#cut = cut;
    this.#resolve = resolve;
    this.#reject = reject;
    cut?.onCancel(this.#onCut);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cut?.isCancelled === true) {
      controller.abort(new Error('the process stops'));
    } else {
      this.#isSent = true;
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    received: ProviderResponse['headers'],
  ): void {
    // Informational responses are ignored; the final one follows.
    if (status < 200) {
      return;
    }
    const body = new ReceivedBody(controller);
    this.#body = body;
    const encoding = received['content-encoding'];
    if (encoding === undefined) {
      this.#resolve({ status, headers: received, body, isEncoded: false });
      return;
    }
    const decoders = decodersOf(encoding);
    if (decoders === undefined) {
      this.#resolve({ status, headers: received, body, isEncoded: true });
      return;
    }
    const { 'content-encoding': _, ...headers } = received;
    this.#resolve({
      status,
      headers,
      body: decoders.reduce(decodedBody, body as BodySource),
      isEncoded: false,
    });
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body?.data(chunk);
  }

  onResponseEnd(): void {
    this.#cut?.off(this.#onCut);
    this.#body?.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#cut?.off(this.#onCut);
    if (this.#body === undefined) {
      this.#reject(unreachable(error, this.#host, this.#isSent));
    } else {
      this.#body.broken();
    }
  }
}

/**
 * Returns the error of a failed request. A provider that received the request may work on it and charge for it, even if it is
 * silent until the timeout or closes the connection without a response. A request that was never sent costs nothing.
 */
function unreachable(error: unknown, host: string, isSent: boolean): ProviderUnreachable {
  const isTimeout =
    error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError;
  const reason = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : 'unknown';
  return new ProviderUnreachable(`${host}: ${reason}`, isTimeout, isSent);
}

const encodingsMax = 3;

/**
 * Returns the decoders of an encoding, in the order in which they apply; undefined if one is unknown. The gateway does not request
 * compression, but decodes the responses of providers that compress nevertheless, even twice. Each decoder works at the pace of its
 * reader, which bounds memory.
 */
function decodersOf(encoding: string | string[]): readonly Decoder[] | undefined {
  const names = String(encoding)
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const creators = names.reverse().map((name) => decoders.get(name));
  return names.length > encodingsMax || creators.includes(undefined)
    ? undefined
    : creators.map((create) => (create as () => Decoder)());
}

const decoders: ReadonlyMap<string, () => Decoder> = new Map([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);
