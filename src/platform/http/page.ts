/** What is served outside the JSON API: health, metrics, documentation, the console. Never enveloped. */
import type { IncomingHttpHeaders } from 'node:http';

export interface Page {
  /** GET unless it says so. */
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  handler(visit: Visit): Promise<PageAnswer>;
}

/** What a page may know of the request. Who asks is the page's to find out: most are open to everyone. */
export interface Visit {
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
  readonly body: string;
  /** A list where the header is sent more than once, as cookies are. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
}
