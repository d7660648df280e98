/**
 * Pages: everything outside the JSON API, such as health, metrics, documentation and the console. A page that declares `refused`
 * renders its errors itself. The errors of other pages are error envelopes.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { ApiError } from '../../../contract/api-error.ts';

/** Default maximum size of a form. It is enough for a key, a token or a choice. */
export const defaultFormBytes = 16_384;

export interface Page {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST';
  /** The path. Variable segments are `{names}`; `*` at the end matches everything below. */
  readonly path: string;
  /** Maximum size of the page's form, if larger than `defaultFormBytes`. */
  readonly formLimitBytes?: number;
  /** Accepts forms of other sites. By default only forms from our own pages are accepted. */
  readonly acceptsCrossSiteForms?: true;
  handler(visit: Visit): Promise<PageAnswer>;
  /** Renders the error of `handler`, or of a check before it. */
  refused?(error: ApiError, visit: Omit<Visit, 'query' | 'form'>): PageAnswer;
}

/** The request of a page. Pages identify their visitor themselves, because some are public. */
export interface Visit {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The path with its query string, as requested. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
  /** Reads the fields of a submitted form. May be called once; throws if the body is not a form or too large. */
  form(): Promise<URLSearchParams>;
}

export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Reads the fields of a submitted form. Can be called only once. Throws if the body is not a form or is too large. */
  readonly body: string | Readable;
  /** Headers. The value is a list if the header is sent more than once, such as `set-cookie`. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** Redirects to one of our pages or to an identity provider. With status 303 the next request is a GET, even after a POST. */
export function redirectTo(location: string, headers: PageAnswer['headers'] = {}): PageAnswer {
  return {
    status: 303,
    contentType: 'text/plain; charset=utf-8',
    body: 'See the address in the Location header.\n',
    headers: { 'cache-control': 'no-store', location, ...headers },
  };
}
