/**
 * A fetch for addresses that an org has given us: to where it was checked, bounded in time and in what is read, and
 * without following redirects.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { mayConnect } from './addresses.ts';
import { AddressNotAllowed, checkedLookup, type LookupOptions } from './checked-lookup.ts';

const timeoutMs = 10_000;
const answerBytesMax = 1_048_576;

export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of any kind. */
  readonly body?: unknown;
}

export type OutboundFetch = (url: string, options: FetchOptions) => Promise<Response>;

export function createOutboundFetch(options: LookupOptions): OutboundFetch {
  const lookup = checkedLookup(options);
  return async (address, { method = 'GET', headers = {}, body }) => {
    const url = new URL(address);
    if (!mayConnect(url, options.allowPrivateNetworks)) {
      throw new AddressNotAllowed(`${url.host} is not allowed`);
    }
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    return new Promise((resolve, reject) => {
      const request = send(url, {
        method,
        headers,
        lookup,
        signal: AbortSignal.timeout(timeoutMs),
        agent: false,
      });
      request.on('error', reject);
      request.on('response', (response) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          parts.push(chunk);
          if (bytes > answerBytesMax) {
            request.destroy(new Error(`${url.host} answered more than ${answerBytesMax} bytes`));
          }
        });
        response.on('error', reject);
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          const isEmpty = status === 204 || status === 304;
          const contentType = response.headers['content-type'];
          resolve(
            new Response(isEmpty ? null : Buffer.concat(parts), {
              status,
              headers: contentType === undefined ? {} : { 'content-type': contentType },
            }),
          );
        });
      });
      request.end(body == null ? undefined : String(body));
    });
  };
}
