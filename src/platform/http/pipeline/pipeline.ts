/**
 * The checks of a request, in the order that the contract promises. The first one that fails determines the response:
 *
 * route → token or session → key status → address → org status → tenant → residency → support scope → scope → role → request rate →
 * body size → parse → validation → idempotency → handler
 *
 * `answer` runs them: `matchRoute` (route), `identify` (token or session to role, identify.ts) and `answerRoute` (request rate to
 * handler, answer-route.ts). A request whose home is another region is forwarded before its body is read. A request of a support
 * session is recorded before it is served. Every response of the pipeline is a `Reply` or a `StreamedReply`, and `respond` sends
 * all of them.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { SpanKind, type Tracer } from '@opentelemetry/api';
import { ApiError } from '../../../contract/api-error.ts';
import type { DeprecationHeaders } from '../../../contract/deprecation-headers.ts';
import type { Clock } from '../../time/clock.ts';
import { type AddressList, clientAddress } from '../message/address.ts';
import { readForm, requireTrailer, storableParameters } from '../message/body.ts';
import { bodyMemoryOf } from '../message/body-memory.ts';
import { type HttpRequest, requestFromNode } from '../message/http-request.ts';
import { unlessUnchanged } from '../message/not-modified.ts';
import { checkParameterCount } from '../message/query-string.ts';
import { createLogError, errorReply, type Reply, type StreamedReply } from '../message/reply.ts';
import { checkRequestLine, headerLines } from '../message/request-head.ts';
import { newTraceId } from '../message/trace-id.ts';
import type { HeadersOfUnread } from '../message/unread-head.ts';
import { type Caller, type Credential, WrongRegion } from '../routes/access.ts';
import { defaultFormBytes, type Page, type PageAnswer, type Visit } from '../routes/page.ts';
import type { RawHead, RawRequest } from '../routes/raw-endpoint.ts';
import type { Endpoint, RouteEndpoint, RouteMatch, Router } from '../routes/router.ts';
import { type AnswerRouteDependencies, createAnswerRoute } from './answer-route.ts';
import { corsHeaders, isPreflight, preflightHeaders } from './cors.ts';
import { checkNotCrossSite } from './cross-site.ts';
import { createIdentify, type IdentifyDependencies } from './identify.ts';
import {
  type CheckAccess,
  createCheckAccess,
  createInProcessClient,
  type InProcessClient,
} from './in-process-client.ts';
import { stillAdmitted } from './long-stream.ts';
import { createObserveRequest, type ObserveDependencies } from './observe-request.ts';
import type { OnRefusedCall } from './refused-call.ts';
import type { Regions } from './regions.ts';
import type { RequestContext } from './request-context.ts';

export interface PipelineDependencies
  extends AnswerRouteDependencies,
    IdentifyDependencies,
    ObserveDependencies {
  readonly router: Router;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly settings: PipelineSettings & AnswerRouteDependencies['settings'];
  /** The interface to other regions; undefined while residency is off. */
  readonly regions?: Regions | undefined;
  /**
   * Called for every response of a route, including errors, unless another region gives it. Returns the deprecation headers if the
   * route is deprecated.
   */
  signalDeprecation(template: string, credential: Credential | undefined): DeprecationHeaders | undefined;
  /** Called for every failed request of a route with a known credential. Must not wait or throw. */
  readonly onRefusedCall: OnRefusedCall;
}

export interface PipelineSettings {
  readonly trustedProxies: AddressList | undefined;
  readonly corsOrigins: readonly string[];
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Pipeline {
  readonly handle: RequestHandler;
  /** Handles a request like `handle`, but one that Node's parser did not read. */
  serve(incoming: HttpRequest): void;
  /** Returns the response headers for a request whose head could not be read completely. */
  readonly headersOfUnread: HeadersOfUnread;
  readonly call: InProcessClient;
  readonly checkAccess: CheckAccess;
}

export function createPipeline(deps: PipelineDependencies): Pipeline {
  const { router, clock, log, tracer, settings } = deps;
  const logError = createLogError(log);
  const answerRoute = createAnswerRoute(deps);
  const { identify, findCredential, checkAdmission, recordIfSupport } = createIdentify(deps);
  const observe = createObserveRequest(deps);

  function serve(incoming: HttpRequest): void {
    respond(incoming).catch((error) => {
      log.error({ err: error }, 'request ended without a response');
      incoming.request.socket.destroy();
    });
  }

  async function respond(incoming: HttpRequest): Promise<void> {
    const startedMs = performance.now();
    const { request } = incoming;
    const forwarded = deps.regions?.received(request);
    const sent = forwarded === undefined || 'error' in forwarded ? undefined : forwarded;
    if (sent?.bodyTrailer !== undefined) {
      requireTrailer(incoming.messages().request, sent.bodyTrailer);
    }
    const context: RequestContext = {
      now: clock.now(),
      incoming,
      request,
      traceId: sent?.traceId ?? newTraceId(),
      address: sent?.address ?? clientAddress(request, settings.trustedProxies),
      sentBy: sent?.from,
      forwarded,
      endpoint: undefined,
      params: {},
      credential: undefined,
      caller: undefined,
      rateHeaders: undefined,
    };
    const span = tracer.startSpan(request.method ?? '', { kind: SpanKind.SERVER });
    let reply: Reply | StreamedReply;
    try {
      reply = unlessUnchanged(request, await answer(context));
    } catch (thrown) {
      const error = logError(thrown, context.traceId);
      reportRefused(error, context);
      reply = replyTo(error, context);
    }
    // Uses `Object.assign`, because a literal that starts with a spread is several times as expensive (docs/design/records/0203).
    const headers: Record<string, string | string[]> = Object.assign(
      {},
      reply.headers,
      context.rateHeaders,
      'servedBy' in reply ? undefined : deprecationOf(context.endpoint, context.credential),
      corsHeaders(request, settings.corsOrigins),
    );
    headers['x-svc-trace-id'] = context.traceId;
    headers['x-content-type-options'] = 'nosniff';
    if (typeof reply.body !== 'string') {
      reply.body.once('error', (error) =>
        log.warn({ traceId: context.traceId, reason: String(error) }, 'response stream aborted'),
      );
    }
    incoming.send(reply, headers);
    observe(context, reply, span, performance.now() - startedMs);
  }

  async function answer(context: RequestContext): Promise<Reply | StreamedReply> {
    let match: RouteMatch | 'preflight';
    try {
      match = matchRoute(context);
    } catch (error) {
      await recordIfSupport(context, () => {
        throw error;
      });
      throw error;
    }
    if (match === 'preflight') {
      return { status: 204, headers: preflightHeaders, body: '' };
    }
    const { endpoint } = match;
    if (endpoint.kind === 'page') {
      return answerPage(context, endpoint.page, match);
    }
    if (endpoint.kind === 'raw') {
      return endpoint.raw.handler(rawRequestOf(context));
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
    if (caller !== undefined && context.forwarded !== undefined) {
      await checkMark(context);
    }
    context.caller = caller;
    return answerRoute(endpoint, {
      address: context.address,
      traceId: context.traceId,
      now: context.now,
      match,
      caller,
      readBody: (rules) => context.incoming.readBody(rules),
      keyLines: headerLines(context.request, 'idempotency-key'),
      ifMatch: context.request.headers['if-match'],
      stillAdmitted: stillAdmittedTo(context, endpoint, match),
      requestIdentity: context.incoming,
      onRates: (headers) => {
        context.rateHeaders = headers;
      },
    });
  }

  /** Accepts the mark of a forwarded request. Called after the caller is identified, so that only authenticated requests cost a write. */
  async function checkMark({ forwarded }: RequestContext): Promise<void> {
    if (forwarded !== undefined && 'error' in forwarded) {
      throw forwarded.error;
    }
    await forwarded?.acceptOnce();
  }

  /** Finds the route. Sets the endpoint before any check throws, because errors also have the deprecation headers of the route. */
  function matchRoute(context: RequestContext): RouteMatch | 'preflight' {
    const { request } = context;
    const found = router.find(request.method ?? '', request.url ?? '');
    if (found instanceof ApiError) {
      const unreadable = router.endpointOf(request.method ?? '', request.url ?? '');
      context.endpoint = unreadable?.kind === 'page' ? undefined : unreadable;
    } else {
      context.endpoint = found.endpoint;
      context.params = found.params;
    }
    checkRequestLine(request);
    if (isPreflight(request) && corsHeaders(request, settings.corsOrigins) !== undefined) {
      return 'preflight';
    }
    if (found instanceof ApiError) {
      throw found;
    }
    return found;
  }

  /** Returns the repeated access check of a streamed response; undefined for a route that is public or never streams. */
  function stillAdmittedTo(context: RequestContext, { route }: RouteEndpoint, match: RouteMatch) {
    return route.contentTypes === undefined || context.caller === undefined
      ? undefined
      : stillAdmitted({
          clock,
          foundAt: context.now,
          find: async (now) => findCredential({ ...context, now }),
          examine: (credential, now) => checkAdmission(context, credential, route, match, now),
        });
  }

  async function answerPage(
    context: RequestContext,
    page: Page,
    match: RouteMatch,
  ): Promise<Reply | StreamedReply> {
    const { request, incoming } = context;
    if (page.acceptsCrossSiteForms !== true) {
      checkNotCrossSite(request, deps.baseUrl());
    }
    const visit: Visit = {
      ...visitOf(context),
      query: pageQuery(match.queryString),
      form: () => {
        const messages = incoming.messages();
        const limitBytes = Math.min(page.formLimitBytes ?? defaultFormBytes, settings.bodyLimitBytes);
        // Unidentified memory, because forms are read before the visitor is identified.
        const memory = bodyMemoryOf(undefined, context.address);
        return readForm(messages.request, messages.response, { limitBytes, memory });
      },
    };
    return pageReply(await page.handler(visit));
  }

  function replyTo(error: ApiError, context: RequestContext): Reply | StreamedReply {
    const { endpoint } = context;
    if (endpoint?.kind === 'page' && endpoint.page.refused !== undefined) {
      return { ...pageReply(endpoint.page.refused(error, visitOf(context))), code: error.code };
    }
    if (endpoint?.kind === 'raw') {
      return endpoint.raw.refused(error, rawHeadOf(context));
    }
    const reply = errorReply(error);
    return error.code === 'session_revoked'
      ? { ...reply, headers: { ...reply.headers, 'set-cookie': deps.sessions.clearCookie() } }
      : reply;
  }

  function reportRefused(
    error: ApiError,
    { endpoint, credential, params, traceId, address }: RequestContext,
  ): void {
    if (endpoint?.kind === 'route' && credential !== undefined) {
      const { route } = endpoint;
      deps.onRefusedCall({ error, route, params, credential, address, traceId, at: clock.now() });
    }
  }

  /** Returns the deprecation headers of an API route. Pages are never deprecated, because the deprecation policy only covers the API. */
  function deprecationOf(
    endpoint: Endpoint | undefined,
    credential?: Credential | undefined,
  ): DeprecationHeaders | undefined {
    return endpoint?.kind === 'route' ? deps.signalDeprecation(endpoint.template, credential) : undefined;
  }

  return {
    handle: (request, response) => serve(requestFromNode(request, response)),
    serve,
    headersOfUnread: ({ method, target }) => ({ ...deprecationOf(router.endpointOf(method, target)) }),
    call: createInProcessClient({ ...deps, logError, answerRoute }),
    checkAccess: createCheckAccess(deps),
  };
}

function rawHeadOf({ request, traceId }: RequestContext): RawHead {
  const { method = '', url = '', headers } = request;
  return { method, url, headers, traceId };
}

function rawRequestOf(context: RequestContext): RawRequest {
  const { incoming, address, now, request, traceId } = context;
  const { method = '', url = '', headers } = request;
  return {
    method,
    url,
    headers,
    traceId,
    address,
    now,
    socket: request.socket,
    identified(caller) {
      context.caller = caller;
    },
    onRates(headers) {
      context.rateHeaders = headers;
    },
    readBody: (limitBytes, tenantId) =>
      incoming.readBytes({ limitBytes, memory: bodyMemoryOf(tenantId, address) }),
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
