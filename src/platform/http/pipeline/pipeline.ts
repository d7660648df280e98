/**
 * The way of a request, in the order that the contract promises; the first refusal wins:
 *
 *   route → token or session → key standing → address → org standing → tenant → residency → support scope → scope → role
 *     → request rate → body size → parse → validation → idempotency → handler
 *
 * What belongs into another region is sent there before its body is read. What a support session asks is recorded before it
 * is served.
 *
 * Everything that leaves goes out as a `Reply`, through one function.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { DeprecationHeaders } from '../../../contract/deprecation-headers.ts';
import { Refusal, refuse, refuseWith } from '../../../contract/refusal.ts';
import type { RequestMetrics } from '../../observability/metrics.ts';
import type { Clock } from '../../time/clock.ts';
import { type AddressList, clientAddress } from '../message/address.ts';
import { readForm, storableParameters } from '../message/body.ts';
import { type Incoming, incomingFromNode } from '../message/http-request.ts';
import { unlessUnchanged } from '../message/not-modified.ts';
import { checkParameterCount } from '../message/query-string.ts';
import { logged, type Reply, refusalReply, type StreamedReply } from '../message/reply.ts';
import {
  bearerToken,
  checkEnvelopeOfRequest,
  headerLines,
  presentedToken,
  type RequestHead,
} from '../message/request-head.ts';
import { newTraceId } from '../message/trace-id.ts';
import type { HeadersOfUnread } from '../message/unread-head.ts';
import { AtHomeElsewhere, type Caller, type Credential } from '../routes/access.ts';
import { type Page, type PageAnswer, usualFormBytes, type Visit } from '../routes/page.ts';
import type { Route } from '../routes/route.ts';
import type { Endpoint, Match, Router } from '../routes/router.ts';
import { type AnswerRouteDependencies, admit, createAnswerRoute } from './answer-route.ts';
import type { AuthBackoff } from './auth-backoff.ts';
import { corsHeaders, isPreflight, preflightHeaders } from './cors.ts';
import { checkNotCrossSite } from './cross-site.ts';
import type { SessionFinder } from './found-session.ts';
import { type Ask, createAsk, createExamine, type Examine } from './in-process-client.ts';
import { stillAdmitted } from './long-stream.ts';
import type { TellRefused } from './refused-call.ts';
import { forwardHeader, type Regions } from './regions.ts';
import { onRecord, type RecordImpersonated } from './support-session.ts';

export interface PipelineDependencies extends AnswerRouteDependencies {
  readonly router: Router;
  readonly clock: Clock;
  readonly metrics: RequestMetrics;
  readonly tracer: Tracer;
  readonly backoff: AuthBackoff;
  readonly settings: PipelineSettings & AnswerRouteDependencies['settings'];
  /** Finds what belongs to a token, at once where it is remembered; undefined when there is none. */
  findCredential(token: string): Found | Promise<Found>;
  /** The same for tokens of support sessions alone. */
  findSupportSession(token: string): Promise<Found>;
  readonly sessions: SessionFinder;
  readonly recordImpersonated: RecordImpersonated;
  /** Where browsers reach this service. */
  baseUrl(): string;
  /** The other regions; undefined while residency is off. */
  readonly regions?: Regions | undefined;
  /** Told of every response of a route, also to a caller who was refused; gives what it carries if it is deprecated. */
  signalDeprecation(template: string, credential: Credential | undefined): DeprecationHeaders | undefined;
  /** Told of every call of a route that was refused to somebody who is known. Never waits, never throws. */
  readonly tellRefused: TellRefused;
}

type Found = Credential | undefined;

export interface PipelineSettings {
  readonly trustedProxies: AddressList | undefined;
  readonly corsOrigins: readonly string[];
}

/** What is learned about a request on its way, for what every response carries and for the log. */
interface Exchange {
  readonly now: Date;
  readonly incoming: Incoming;
  readonly request: RequestHead;
  readonly traceId: string;
  readonly address: string;
  /** The region that has sent it here; undefined: the client has. */
  readonly sentBy: string | undefined;
  endpoint: Endpoint | undefined;
  /** What the path named. */
  params: Readonly<Record<string, string>>;
  /** Whose the token is, also when it may not do what it asks for. */
  credential: Credential | undefined;
  caller: Caller | undefined;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Pipeline {
  readonly handle: RequestHandler;
  /** The same for a request that Node has not read. */
  serve(incoming: Incoming): void;
  /** The headers of a response to a request whose head could not be read to its end. */
  readonly headersOfUnread: HeadersOfUnread;
  readonly ask: Ask;
  readonly examine: Examine;
}

export function createPipeline(deps: PipelineDependencies): Pipeline {
  const { router, clock, log, metrics, tracer, settings } = deps;
  const answerRoute = createAnswerRoute(deps);

  function serve(incoming: Incoming): void {
    respond(incoming).catch((error) => {
      log.error({ err: error }, 'a request ended without an answer');
      incoming.request.socket.destroy();
    });
  }

  async function respond(incoming: Incoming): Promise<void> {
    const startedMs = performance.now();
    const { request } = incoming;
    const sent = deps.regions?.received(request);
    const exchange: Exchange = {
      now: clock.now(),
      incoming,
      request,
      traceId: sent?.traceId ?? newTraceId(),
      address: sent?.address ?? clientAddress(request, settings.trustedProxies),
      sentBy: sent?.from,
      endpoint: undefined,
      params: {},
      credential: undefined,
      caller: undefined,
    };
    const span = tracer.startSpan(request.method ?? '', { kind: SpanKind.SERVER });
    let reply: Reply | StreamedReply;
    try {
      reply = unlessUnchanged(request, await answer(exchange));
    } catch (error) {
      const refusal = logged(log, error, exchange.traceId);
      const { endpoint, credential, params, traceId, address } = exchange;
      if (endpoint?.kind === 'route' && credential !== undefined) {
        const { route } = endpoint;
        deps.tellRefused({ refusal, route, params, credential, address, traceId, at: clock.now() });
      }
      reply = replyTo(refusal, exchange);
    }
    const headers = {
      ...reply.headers,
      ...('servedBy' in reply ? undefined : deprecationOf(exchange.endpoint, exchange.credential)),
      ...corsHeaders(request, settings.corsOrigins),
      'x-svc-trace-id': exchange.traceId,
      'x-content-type-options': 'nosniff',
    };
    if (typeof reply.body !== 'string') {
      reply.body.once('error', (error) =>
        log.warn({ traceId: exchange.traceId, reason: String(error) }, 'a stream was broken off'),
      );
    }
    incoming.send(reply, headers);
    observe(exchange, reply, span, performance.now() - startedMs);
  }

  function replyTo(refusal: Refusal, exchange: Exchange): Reply | StreamedReply {
    const { endpoint } = exchange;
    if (endpoint?.kind === 'page' && endpoint.page.refused !== undefined) {
      return { ...pageReply(endpoint.page.refused(refusal, visitOf(exchange))), code: refusal.code };
    }
    const reply = refusalReply(refusal);
    return refusal.code === 'session_revoked'
      ? { ...reply, headers: { ...reply.headers, 'set-cookie': deps.sessions.clearCookie() } }
      : reply;
  }

  /** Pages are never deprecated: they are outside the promise that the signals belong to. */
  function deprecationOf(
    endpoint: Endpoint | undefined,
    credential?: Credential | undefined,
  ): DeprecationHeaders | undefined {
    return endpoint?.kind === 'route' ? deps.signalDeprecation(endpoint.template, credential) : undefined;
  }

  /** What is left of a request once it is answered: a metric, a span, a line in the log. */
  function observe(exchange: Exchange, reply: Reply | StreamedReply, span: Span, durationMs: number): void {
    const { request } = exchange;
    const route = exchange.endpoint?.template ?? 'unmatched';
    metrics.observe(request.method ?? '', route, reply.status, durationMs / 1_000);
    if (span.isRecording()) {
      span.updateName(`${request.method} ${route}`);
      span.setAttributes({
        'http.request.method': request.method ?? '',
        'http.route': route,
        'http.response.status_code': reply.status,
        'svc.trace_id': exchange.traceId,
      });
      if (reply.status >= 500) {
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    }
    log[reply.status >= 500 ? 'warn' : 'info'](
      {
        traceId: exchange.traceId,
        method: request.method,
        route,
        status: reply.status,
        code: reply.code,
        tenant: exchange.caller?.tenantId,
        key: exchange.caller?.keyId,
        address: exchange.address,
        sentBy: exchange.sentBy,
        servedBy: 'servedBy' in reply ? reply.servedBy : undefined,
        ms: Math.round(durationMs * 100) / 100,
      },
      'request',
    );
  }

  async function answer(exchange: Exchange): Promise<Reply | StreamedReply> {
    const { request } = exchange;
    const found = router.find(request.method ?? '', request.url ?? '');
    // Before anything is refused: what is said of a route is said with a refusal too.
    if (found instanceof Refusal) {
      const unreadable = router.endpointOf(request.method ?? '', request.url ?? '');
      exchange.endpoint = unreadable?.kind === 'route' ? unreadable : undefined;
    } else {
      exchange.endpoint = found.endpoint;
      exchange.params = found.params;
    }
    let match: Match;
    try {
      checkEnvelopeOfRequest(request);
      if (isPreflight(request) && corsHeaders(request, settings.corsOrigins) !== undefined) {
        return { status: 204, headers: preflightHeaders, body: '' };
      }
      if (found instanceof Refusal) {
        throw found;
      }
      match = found;
    } catch (refusal) {
      await recordIfSupport(exchange, () => {
        throw refusal;
      });
      throw refusal;
    }
    const { endpoint } = match;
    if (endpoint.kind === 'page') {
      return answerPage(exchange, endpoint.page, match);
    }
    let caller: Caller | undefined;
    try {
      const identified = identify(exchange, endpoint.route, match);
      caller = identified instanceof Promise ? await identified : identified;
    } catch (error) {
      if (error instanceof AtHomeElsewhere && deps.regions !== undefined) {
        return deps.regions.forward(error.homeRegion, { ...exchange, ...exchange.incoming.messages() });
      }
      throw error;
    }
    exchange.caller = caller;
    return answerRoute(endpoint, {
      address: exchange.address,
      traceId: exchange.traceId,
      now: exchange.now,
      match,
      caller,
      readBody: (rules) => exchange.incoming.readBody(rules),
      keyLines: headerLines(request, 'idempotency-key'),
      ...(endpoint.route.contentTypes !== undefined &&
        caller !== undefined && {
          stillAdmitted: stillAdmitted({
            clock,
            foundAt: exchange.now,
            find: async (now) => findCredential({ ...exchange, now }),
            examine: (credential, now) => examine(exchange, credential, endpoint.route, match, now),
          }),
        }),
      outcome: exchange.incoming.outcome,
    });
  }

  async function answerPage(exchange: Exchange, page: Page, match: Match): Promise<Reply | StreamedReply> {
    const { request, incoming } = exchange;
    if (page.takesFormsOfOthers !== true) {
      checkNotCrossSite(request, deps.baseUrl());
    }
    const visit: Visit = {
      ...visitOf(exchange),
      query: pageQuery(match.queryString),
      form: () => {
        const messages = incoming.messages();
        const limitBytes = Math.min(page.formLimitBytes ?? usualFormBytes, settings.bodyLimitBytes);
        return readForm(messages.request, messages.response, limitBytes);
      },
    };
    return pageReply(await page.handler(visit));
  }

  function identify(
    exchange: Exchange,
    route: Route,
    match: Match,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (route.access.kind === 'public') {
      return exchange.request.headers.authorization === undefined
        ? undefined
        : recordIfSupport(exchange, () => undefined);
    }
    const found = findCredential(exchange);
    return found instanceof Promise
      ? found.then((credential) => identified(exchange, route, match, credential))
      : identified(exchange, route, match, found);
  }

  function identified(
    exchange: Exchange,
    route: Route,
    match: Match,
    credential: Found,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (credential === undefined) {
      const retryAfterSeconds = deps.backoff.failed(exchange.address);
      throw retryAfterSeconds === undefined
        ? refuse('unauthorized')
        : refuseWith(
            'rate_limited',
            { retry_after_seconds: retryAfterSeconds },
            'Too many failed tokens from here.',
          );
    }
    exchange.credential = credential;
    const examined = () => examine(exchange, credential, route, match, exchange.now);
    return credential.support === undefined
      ? examined()
      : onRecord(deps.recordImpersonated, credential, impersonated(exchange), examined);
  }

  /** For what is decided whoever asks: a request of a support session is recorded then too. */
  async function recordIfSupport(exchange: Exchange, decide: () => undefined): Promise<undefined> {
    const token = presentedToken(exchange.request);
    const credential = token === undefined ? undefined : await deps.findSupportSession(token);
    if (credential !== undefined) {
      await onRecord(deps.recordImpersonated, credential, impersonated(exchange), decide);
    }
  }

  function examine(
    { request, address }: Exchange,
    credential: Credential,
    route: Route,
    match: Match,
    now: Date,
  ): Caller | undefined {
    // Whether or not this region believes what is said there: its clock or its secret may be the one that is wrong.
    const arrivedElsewhere = request.headers[forwardHeader] !== undefined;
    return admit(credential, route, match, { address, now, arrivedElsewhere });
  }

  /** Undefined: what was presented belongs to nobody. A bearer token wins over a cookie. */
  function findCredential({ request, now }: Exchange): Found | Promise<Found> {
    return request.headers.authorization === undefined
      ? findSession(request, now)
      : deps.findCredential(bearerToken(request));
  }

  async function findSession(request: RequestHead, now: Date): Promise<Found> {
    const session = await deps.sessions.find(request.headers.cookie, now);
    switch (session.kind) {
      case 'none':
        throw refuse('unauthorized', 'A bearer token is required.');
      case 'unknown':
        return undefined;
      case 'ended':
        throw refuse('session_revoked');
      case 'live':
        checkNotCrossSite(request, deps.baseUrl());
        return session.credential;
    }
  }

  return {
    handle: (request, response) => serve(incomingFromNode(request, response)),
    serve,
    headersOfUnread: ({ method, target }) => ({ ...deprecationOf(router.endpointOf(method, target)) }),
    ask: createAsk({ ...deps, answerRoute }),
    examine: createExamine(deps),
  };
}

function impersonated({ request, endpoint, address, traceId, now }: Exchange) {
  const { method = '', url = '' } = request;
  return {
    route: endpoint?.kind === 'route' ? endpoint.route : undefined,
    method,
    url,
    address,
    traceId,
    now,
  };
}

function visitOf({ request, params, address, traceId, now }: Exchange): Omit<Visit, 'query' | 'form'> {
  const { method = '', url = '', headers } = request;
  return { method, url, params, headers, address, traceId, now };
}

function pageQuery(text: string): URLSearchParams {
  checkParameterCount(text);
  return storableParameters(text);
}

function pageReply({ status, contentType, body, headers }: PageAnswer): Reply | StreamedReply {
  const head = { status, headers: { 'content-type': contentType, ...headers } };
  return typeof body === 'string' ? { ...head, body } : { ...head, body };
}
