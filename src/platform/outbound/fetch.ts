/**
 * A fetch for URLs that an org has configured. It only connects to checked addresses, bounds time and response size, and does not
 * follow redirects. Whatever the server sends, the call returns a response or rejects.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { mayConnect } from './addresses.ts';
import { AddressNotAllowed, checkedLookup, type LookupOptions } from './checked-lookup.ts';
import { boundInterimResponses } from './interim-responses.ts';

const totalTimeoutMs = 10_000;
/**
 * Default maximum size of a response. It is several times the size of identity providers' responses, and small enough to parse
 * without delaying other requests.
 */
export const answerBytesMax = 65_536;

/** Statuses for which a `Response` must not have a body. */
const bodilessStatuses = new Set([204, 205, 304]);

export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request body; converted to text. */
  readonly body?: unknown;
}

export interface OutboundOptions extends LookupOptions {
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
}

export type OutboundFetch = (url: string, options: FetchOptions) => Promise<Response>;

export function createOutboundFetch(options: OutboundOptions): OutboundFetch {
  const { timeoutMs = totalTimeoutMs, bytesMax = answerBytesMax } = options;
  const lookup = checkedLookup(options);

  /** Sends a request. Its handlers only collect data and settle the promise, because an error thrown in a handler would end the process. */
  function exchange(
    url: URL,
    { method = 'GET', headers = {}, body }: FetchOptions,
  ): Promise<BufferedResponse> {
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeoutMs);
      const request = send(url, { method, headers, lookup, signal, agent: false });
      request.on('error', reject);
      // A protocol upgrade ends the request without an error.
      request.on('close', () => reject(new Error(`${url.host} closed the connection without a response`)));
      boundInterimResponses(request);
      request.on('response', (response) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          parts.push(chunk);
          if (bytes > bytesMax) {
            request.destroy(new Error(`${url.host} answered more than ${bytesMax} bytes`));
          }
        });
        response.on('error', reject);
        response.on('end', () => resolve({ response, parts }));
      });
      request.end(body == null ? undefined : String(body));
    });
  }

  return async (address, fetchOptions) => {
    const url = new URL(address);
    if (!mayConnect(url, options)) {
      throw new AddressNotAllowed(`${url.host} is not allowed`);
    }
    return responseOf(url, await exchange(url, fetchOptions));
  };
}

interface BufferedResponse {
  readonly response: IncomingMessage;
  readonly parts: readonly Buffer[];
}

function responseOf({ host }: URL, { response, parts }: BufferedResponse): Response {
  const { statusCode: status = 0, headers } = response;
  if (status < 200 || status > 599) {
    throw new Error(`${host} answered with ${status}, which is not the status of a response`);
  }
  const contentType = headers['content-type'];
  return new Response(bodilessStatuses.has(status) ? null : Buffer.concat(parts), {
    status,
    headers: contentType === undefined ? {} : { 'content-type': contentType },
  });
}
