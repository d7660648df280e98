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
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { DeprecationHeaders } from '../../../contract/deprecation-headers.ts';
import type { RequestMetrics } from '../../observability/metrics.ts';
import type { Clock } from '../../time/clock.ts';
import { type AddressList, clientAddress } from '../message/address.ts';
import { readForm, storableParameters } from '../message/body.ts';
import { type HttpRequest, requestFromNode } from '../message/http-request.ts';
import { unlessUnchanged } from '../message/not-modified.ts';
import { checkParameterCount } from '../message/query-string.ts';
import { errorReply, logged, type Reply, type StreamedReply } from '../message/reply.ts';
import {
  bearerToken,
  checkEnvelopeOfRequest,
  headerLines,
  presentedToken,
  type RequestHead,
} from '../message/request-head.ts';
import { newTraceId } from '../message/trace-id.ts';
import type { HeadersOfUnread } from '../message/unread-head.ts';
import { type Caller, type Credential, WrongRegion } from '../routes/access.ts';
import { type Page, type PageAnswer, usualFormBytes, type Visit } from '../routes/page.ts';
import type { Route } from '../routes/route.ts';
import type { Endpoint, Match, Router } from '../routes/router.ts';
import { type AnswerRouteDependencies, admit, createAnswerRoute } from './answer-route.ts';
import type { AuthBackoff } from './auth-backoff.ts';
import { corsHeaders, isPreflight, preflightHeaders } from './cors.ts';
import { checkNotCrossSite } from './cross-site.ts';
import type { SessionFinder } from './found-session.ts';
import {
  type CheckAccess,
  createCheckAccess,
  createInProcessClient,
  type InProcessClient,
} from './in-process-client.ts';
import { stillAdmitted } from './long-stream.ts';
import type { OnRefusedCall } from './refused-call.ts';
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
  readonly onRefusedCall: OnRefusedCall;
}

type Found = Credential | undefined;

export interface PipelineSettings {
  readonly trustedProxies: AddressList | undefined;
  readonly corsOrigins: readonly string[];
}

/** What is learned about a request on its way, for what every response carries and for the log. */
interface RequestContext {
  readonly now: Date;
  readonly incoming: HttpRequest;
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
  serve(incoming: HttpRequest): void;
  /** The headers of a response to a request whose head could not be read to its end. */
  readonly headersOfUnread: HeadersOfUnread;
  readonly call: InProcessClient;
  readonly checkAccess: CheckAccess;
}

export function createPipeline(deps: PipelineDependencies): Pipeline {
  const { router, clock, log, metrics, tracer, settings } = deps;
  const answerRoute = createAnswerRoute(deps);

  function serve(request: HttpRequest): void {
    respond(request).catch((error) => {
      log.error({ err: error }, 'a request ended without an answer');
      request.request.socket.destroy();
    });
  }

  async function respond(incoming: HttpRequest): Promise<void> {
    const startedMs = performance.now();
    const { request } = incoming;
    const sent = deps.regions?.received(request);
    const context: RequestContext = {
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
      reply = unlessUnchanged(request, await answer(context));
    } catch (error) {
      const refusal = logged(log, error, context.traceId);
      const { endpoint, credential, params, traceId, address } = context;
      if (endpoint?.kind === 'route' && credential !== undefined) {
        const { route } = endpoint;
        deps.onRefusedCall({ error: refusal, route, params, credential, address, traceId, at: clock.now() });
      }
      reply = replyTo(refusal, context);
    }
    const headers = {
      ...reply.headers,
      ...('servedBy' in reply ? undefined : deprecationOf(context.endpoint, context.credential)),
      ...corsHeaders(request, settings.corsOrigins),
      'x-svc-trace-id': context.traceId,
      'x-content-type-options': 'nosniff',
    };
    if (typeof reply.body !== 'string') {
      reply.body.once('error', (error) =>
        log.warn({ traceId: context.traceId, reason: String(error) }, 'a stream was broken off'),
      );
    }
    incoming.send(reply, headers);
    observe(context, reply, span, performance.now() - startedMs);
  }

  function replyTo(error: ApiError, context: RequestContext): Reply | StreamedReply {
    const { endpoint } = context;
    if (endpoint?.kind === 'page' && endpoint.page.refused !== undefined) {
      return { ...pageReply(endpoint.page.refused(error, visitOf(context))), code: error.code };
    }
    const reply = errorReply(error);
    return error.code === 'session_revoked'
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
  function observe(
    context: RequestContext,
    reply: Reply | StreamedReply,
    span: Span,
    durationMs: number,
  ): void {
    const { request } = context;
    const route = context.endpoint?.template ?? 'unmatched';
    metrics.observe(request.method ?? '', route, reply.status, durationMs / 1_000);
    if (span.isRecording()) {
      span.updateName(`${request.method} ${route}`);
      span.setAttributes({
        'http.request.method': request.method ?? '',
        'http.route': route,
        'http.response.status_code': reply.status,
        'svc.trace_id': context.traceId,
      });
      if (reply.status >= 500) {
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    }
    log[reply.status >= 500 ? 'warn' : 'info'](
      {
        traceId: context.traceId,
        method: request.method,
        route,
        status: reply.status,
        code: reply.code,
        tenant: context.caller?.tenantId,
        key: context.caller?.keyId,
        address: context.address,
        sentBy: context.sentBy,
        servedBy: 'servedBy' in reply ? reply.servedBy : undefined,
        ms: Math.round(durationMs * 100) / 100,
      },
      'request',
    );
  }

  async function answer(context: RequestContext): Promise<Reply | StreamedReply> {
    const { request } = context;
    const found = router.find(request.method ?? '', request.url ?? '');
    // Before anything is refused: what is said of a route is said with a refusal too.
    if (found instanceof ApiError) {
      const unreadable = router.endpointOf(request.method ?? '', request.url ?? '');
      context.endpoint = unreadable?.kind === 'route' ? unreadable : undefined;
    } else {
      context.endpoint = found.endpoint;
      context.params = found.params;
    }
    let match: Match;
    try {
      checkEnvelopeOfRequest(request);
      if (isPreflight(request) && corsHeaders(request, settings.corsOrigins) !== undefined) {
        return { status: 204, headers: preflightHeaders, body: '' };
      }
      if (found instanceof ApiError) {
        throw found;
      }
      match = found;
    } catch (refusal) {
      await recordIfSupport(context, () => {
        throw refusal;
      });
      throw refusal;
    }
    const { endpoint } = match;
    if (endpoint.kind === 'page') {
      return answerPage(context, endpoint.page, match);
    }
    let caller: Caller | undefined;
    try {
      const identified = identify(context, endpoint.route, match);
      caller = identified instanceof Promise ? await identified : identified;
    } catch (error) {
      if (error instanceof WrongRegion && deps.regions !== undefined) {
        return deps.regions.forward(error.homeRegion, { ...context, ...context.incoming.messages() });
      }
      throw error;
    }
    context.caller = caller;
    return answerRoute(endpoint, {
      address: context.address,
      traceId: context.traceId,
      now: context.now,
      match,
      caller,
      readBody: (rules) => context.incoming.readBody(rules),
      keyLines: headerLines(request, 'idempotency-key'),
      ...(endpoint.route.contentTypes !== undefined &&
        caller !== undefined && {
          stillAdmitted: stillAdmitted({
            clock,
            foundAt: context.now,
            find: async (now) => findCredential({ ...context, now }),
            examine: (credential, now) => examine(context, credential, endpoint.route, match, now),
          }),
        }),
      requestIdentity: context.incoming,
    });
  }

  async function answerPage(
    context: RequestContext,
    page: Page,
    match: Match,
  ): Promise<Reply | StreamedReply> {
    const { request, incoming } = context;
    if (page.takesFormsOfOthers !== true) {
      checkNotCrossSite(request, deps.baseUrl());
    }
    const visit: Visit = {
      ...visitOf(context),
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
    context: RequestContext,
    route: Route,
    match: Match,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (route.access.kind === 'public') {
      return context.request.headers.authorization === undefined
        ? undefined
        : recordIfSupport(context, () => undefined);
    }
    const found = findCredential(context);
    return found instanceof Promise
      ? found.then((credential) => identified(context, route, match, credential))
      : identified(context, route, match, found);
  }

  function identified(
    context: RequestContext,
    route: Route,
    match: Match,
    credential: Found,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (credential === undefined) {
      const retryAfterSeconds = deps.backoff.failed(context.address);
      throw retryAfterSeconds === undefined
        ? apiError('unauthorized')
        : apiErrorWithDetails(
            'rate_limited',
            { retry_after_seconds: retryAfterSeconds },
            'Too many failed tokens from here.',
          );
    }
    context.credential = credential;
    const examined = () => examine(context, credential, route, match, context.now);
    return credential.support === undefined
      ? examined()
      : onRecord(deps.recordImpersonated, credential, impersonated(context), examined);
  }

  /** For what is decided whoever asks: a request of a support session is recorded then too. */
  async function recordIfSupport(context: RequestContext, decide: () => undefined): Promise<undefined> {
    const token = presentedToken(context.request);
    const credential = token === undefined ? undefined : await deps.findSupportSession(token);
    if (credential !== undefined) {
      await onRecord(deps.recordImpersonated, credential, impersonated(context), decide);
    }
  }

  function examine(
    { request, address }: RequestContext,
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
  function findCredential({ request, now }: RequestContext): Found | Promise<Found> {
    return request.headers.authorization === undefined
      ? findSession(request, now)
      : deps.findCredential(bearerToken(request));
  }

  async function findSession(request: RequestHead, now: Date): Promise<Found> {
    const session = await deps.sessions.find(request.headers.cookie, now);
    switch (session.kind) {
      case 'none':
        throw apiError('unauthorized', 'A bearer token is required.');
      case 'unknown':
        return undefined;
      case 'ended':
        throw apiError('session_revoked');
      case 'live':
        checkNotCrossSite(request, deps.baseUrl());
        return session.credential;
    }
  }

  return {
    handle: (request, response) => serve(requestFromNode(request, response)),
    serve,
    headersOfUnread: ({ method, target }) => ({ ...deprecationOf(router.endpointOf(method, target)) }),
    call: createInProcessClient({ ...deps, answerRoute }),
    checkAccess: createCheckAccess(deps),
  };
}

function impersonated({ request, endpoint, address, traceId, now }: RequestContext) {
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

function visitOf({ request, params, address, traceId, now }: RequestContext): Omit<Visit, 'query' | 'form'> {
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
