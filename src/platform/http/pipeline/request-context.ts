import type { HttpRequest } from '../message/http-request.ts';
import type { RequestHead } from '../message/request-head.ts';
import type { Caller, Credential } from '../routes/access.ts';
import type { Endpoint } from '../routes/router.ts';
import type { RateLimitHeaders } from './rate-limit-headers.ts';
import type { Sent, UnverifiedMark } from './regions.ts';

/** State of one request in the pipeline. The checks fill it in; the response headers, the log and the metrics read it. */
export interface RequestContext {
  readonly now: Date;
  readonly incoming: HttpRequest;
  readonly request: RequestHead;
  readonly traceId: string;
  readonly address: string;
  /** The region that forwarded the request; undefined if the client sent it to this region. */
  readonly sentBy: string | undefined;
  /** The mark of a forwarded request, which may be invalid. */
  readonly forwarded: Sent | UnverifiedMark | undefined;
  endpoint: Endpoint | undefined;
  /** The path parameters. */
  params: Readonly<Record<string, string>>;
  /** The credential of the token or session, even if it does not permit the request. */
  credential: Credential | undefined;
  /** Set once every access check has passed; undefined for a public route. */
  caller: Caller | undefined;
  /** Header fields of the response, if a request rate applies to the caller. */
  rateHeaders: RateLimitHeaders | undefined;
}
