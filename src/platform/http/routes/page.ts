/**
 * What is served outside the JSON API: health, metrics, documentation, the console. Never enveloped where the page says how
 * a refusal looks.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { ApiError } from '../../../contract/api-error.ts';

/** What a form needs at most that holds a key, a token or a choice. */
export const usualFormBytes = 16_384;

export interface Page {
  /** GET unless it says so. */
  readonly method?: 'GET' | 'POST';
  /** With `{names}` for parts that vary, and `*` at the end for everything below. */
  readonly path: string;
  /** The largest form that it takes, where that is more than most need. */
  readonly formLimitBytes?: number;
  /** Forms are taken from our own pages alone, unless a page is there for those of other sites. */
  readonly takesFormsOfOthers?: true;
  handler(visit: Visit): Promise<PageAnswer>;
  /** How a refusal is shown: what `handler` threw, or what was wrong before it was asked. */
  refused?(error: ApiError, visit: Omit<Visit, 'query' | 'form'>): PageAnswer;
}

/** What a page may know of the request. Who asks is the page's to find out: most are open to everyone. */
export interface Visit {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** As it was asked for: the path with its query string. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
  /** The fields of a submitted form. May be read once; refuses what is no form, or too large. */
  form(): Promise<URLSearchParams>;
}

export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  /** A stream where it is too long to be held. */
  readonly body: string | Readable;
  /** A list where the header is sent more than once, as cookies are. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** To a page of our own. 303: whatever was posted, the next request is a GET. */
export function redirectTo(location: string, headers: PageAnswer['headers'] = {}): PageAnswer {
  return {
    status: 303,
    contentType: 'text/plain; charset=utf-8',
    body: 'See the address in the Location header.\n',
    headers: { 'cache-control': 'no-store', location, ...headers },
  };
}
