/** Sends requests to providers: pooled connections, only to allowed addresses, with the timeouts of each connection. */
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher, errors } from 'undici';
import { type Connection, urlBelow } from '../../capabilities/integration/connections/index.ts';
import { mayConnect } from '../../platform/outbound/addresses.ts';
import {
  AddressNotAllowed,
  checkedLookup,
  type LookupOptions,
} from '../../platform/outbound/checked-lookup.ts';

export interface ProviderRequest {
  readonly connection: Connection;
  readonly method: string;
  /** Appended to the base URL of the connection. */
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer | undefined;
  /** Ends the request and its response, because the process stops. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProviderResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Decompressed, unless its encoding is unknown. Fails if the response breaks off or is silent for too long. */
  readonly body: Readable;
}

export interface ProviderClient {
  send(request: ProviderRequest): Promise<ProviderResponse>;
  close(): Promise<void>;
}

/** The provider could not be reached, or did not start a response in time. */
export class ProviderUnreachable extends Error {
  readonly isTimeout: boolean;
  /** True if the provider may have accepted the request, and charge for it. */
  readonly mayBeCharged: boolean;

  constructor(message: string, isTimeout: boolean, mayBeCharged = false) {
    super(message);
    this.name = 'ProviderUnreachable';
    this.isTimeout = isTimeout;
    this.mayBeCharged = mayBeCharged;
  }
}

/** Providers close idle connections after about a minute. */
const keepAliveMs = 30_000;

export function createProviderClient(options: LookupOptions): ProviderClient {
  const lookup = checkedLookup(options);
  /** By the timeout of connecting, which undici sets per pool. */
  const agents = new Map<number, Agent>();

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

  return {
    async send({ connection, method, path, headers, body, signal }) {
      const url = urlBelow(connection.baseUrl, path);
      if (!mayConnect(url, options.allowPrivateNetworks)) {
        throw new ProviderUnreachable(new AddressNotAllowed(`${url.host} is not allowed`).message, false);
      }
      let response: Dispatcher.ResponseData;
      try {
        response = await agentOf(connection).request({
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          method: method as Dispatcher.HttpMethod,
          headers,
          body: body ?? null,
          headersTimeout: connection.timeouts.firstByteMs,
          bodyTimeout: connection.timeouts.idleMs,
          signal,
        });
      } catch (error) {
        throw unreachable(error, url.host, signal?.aborted === true);
      }
      const { statusCode: status, headers: received } = response;
      const decoder = decoderOf(received['content-encoding']);
      if (decoder === undefined) {
        return { status, headers: received, body: response.body };
      }
      const { 'content-encoding': _, ...others } = received;
      return { status, headers: others, body: decoded(response.body, decoder) };
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

/**
 * A provider that is silent until the timeout may work on the request, and charge for it. One that closes the connection
 * without a response has failed, as after a 5xx.
 */
function unreachable(error: unknown, host: string, isAborted: boolean): ProviderUnreachable {
  const isSilent = error instanceof errors.HeadersTimeoutError;
  const isTimeout = isSilent || error instanceof errors.ConnectTimeoutError;
  const reason = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : 'unknown';
  return new ProviderUnreachable(`${host}: ${reason}`, isTimeout, isSilent || isAborted);
}

function decoded(body: Readable, decoder: Transform): Readable {
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}

/** The gateway requests no compression; a provider that compresses nevertheless is decoded. An unknown encoding is passed on. */
function decoderOf(encoding: string | string[] | undefined): Transform | undefined {
  switch (String(encoding).trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
