/** Answers a request of a route after the caller is identified: request rate, body, validation, handler. */

import { ApiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { BusyLoopLimit } from '../../busy-loop-limit.ts';
import { FairQueue } from '../../fair-queue.ts';
import type { BodyRules } from '../message/body.ts';
import { bodyMemoryOf } from '../message/body-memory.ts';
import type { ParsedBody } from '../message/json.ts';
import { isStorable } from '../message/json-errors.ts';
import type { JsonList } from '../message/json-limits.ts';
import { type ParsedQuery, parseQueryString } from '../message/query-string.ts';
import {
  isStream,
  jsonReply,
  type Reply,
  type StreamedReply,
  type StreamResponse,
  streamReply,
} from '../message/reply.ts';
import { type AccessRequest, admitCaller, type Caller, type Credential } from '../routes/access.ts';
import type { HandlerContext, Progress, Route } from '../routes/route.ts';
import type { RouteEndpoint, RouteMatch } from '../routes/router.ts';
import { onePerField } from '../routes/validation.ts';
import { type ItemErrors, itemErrorsOf } from './item-errors.ts';
import { type StillAdmitted, whileAdmitted } from './long-stream.ts';
import type { RateLimitHeaders } from './rate-limit-headers.ts';
import { type CheckRequestRate, throwIfRateLimited } from './request-rate.ts';
import { createWriter, type WriterDependencies } from './write.ts';

export interface AnswerRouteDependencies extends WriterDependencies {
  readonly settings: {
    readonly bodyLimitBytes: number;
    readonly databaseConnections: number;
  } & WriterDependencies['settings'];
  /** Counts the request of an admitted caller against its request rates. */
  readonly checkRequestRate: CheckRequestRate;
  /**
   * Posts settlements of an org that this process has acknowledged but not posted yet, so that the request sees them. Returns
   * undefined if there are none.
   */
  postPending?(orgId: string): Promise<unknown> | undefined;
  /** Called when the request of an admitted caller failed with an `ApiError`. */
  recordDenial(failed: FailedRequest): void;
}

export interface FailedRequest {
  readonly error: ApiError;
  readonly route: Route;
  readonly caller: Caller;
  readonly traceId: string;
  /** The parsed body; undefined if it was not read. */
  readonly body: object | undefined;
}

/** A request of a route, from a socket or from within the process. */
export interface RouteRequest {
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
  readonly match: RouteMatch;
  /** The identified caller; undefined for a public route. */
  readonly caller: Caller | undefined;
  readBody(rules: BodyRules): ParsedBody | Promise<ParsedBody>;
  /** The values of the `Idempotency-Key` header as they were sent. */
  readonly keyLines: readonly string[];
  /** Value of the `If-Match` header; undefined if it is absent. */
  readonly ifMatch: string | undefined;
  readonly requestIdentity?: HandlerContext['requestIdentity'];
  /** Repeats the access checks, for responses that are streamed or take long to compute. */
  readonly stillAdmitted?: StillAdmitted | undefined;
  /** Called with the header fields of the request rates that apply. */
  onRates?(headers: RateLimitHeaders): void;
  /** Called with the progress of long work. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export type AnswerRoute = (endpoint: RouteEndpoint, request: RouteRequest) => Promise<Reply | StreamedReply>;
type ReadHandler = Extract<Route['run'], { kind: 'read' }>['handler'];

/**
 * Number of requests that may use the database directly. It is high enough to use every connection, and low enough to keep their
 * waits short.
 */
const concurrentRequestsMin = 64;
const requestsPerConnection = 4;
const waitingRequestsMax = 2_000;
const waitMsMax = 5_000;

export function createAnswerRoute(deps: AnswerRouteDependencies): AnswerRoute {
  const answerWrite = createWriter(deps);
  // This queue comes before that for a connection, because a request has several statements, and uses memory until it is answered.
  const concurrency = Math.max(
    concurrentRequestsMin,
    requestsPerConnection * deps.settings.databaseConnections,
  );
  const limit = new BusyLoopLimit(concurrency);
  const databaseQueue = new FairQueue({
    resource: 'the database',
    concurrency,
    limit: () => limit.current(),
    waitingMax: waitingRequestsMax,
    waitMsMax,
  });

  async function answerRead(
    { route, entityTagOf }: RouteEndpoint,
    handler: ReadHandler,
    context: HandlerContext,
    request: RouteRequest,
  ): Promise<Reply | StreamedReply> {
    await deps.faults('handler', route.id);
    const answer = await handler(context);
    await request.stillAdmitted?.();
    if (route.contentTypes !== undefined && isStream(answer)) {
      return answerStream(route, answer, request);
    }
    const headers = entityTagOf === undefined ? undefined : { etag: entityTagOf(answer as object) };
    return jsonReply(route.success, JSON.stringify(answer), headers);
  }

  function answerStream(
    route: Route,
    answer: StreamResponse,
    { stillAdmitted }: RouteRequest,
  ): Promise<StreamedReply> {
    const lasting = stillAdmitted === undefined ? answer : whileAdmitted(answer, stillAdmitted);
    return streamReply(route.success, lasting);
  }

  /** Checks the request rate, then reads and validates the query and the body. Returns the argument of the handler. */
  async function parseAndValidate(endpoint: RouteEndpoint, request: RouteRequest): Promise<HandlerContext> {
    const { match, caller, address, traceId, now, requestIdentity } = request;
    const { route } = endpoint;
    const rate = caller && deps.checkRequestRate(caller, route, now.getTime());
    throwIfRateLimited(rate instanceof Promise ? await rate : rate, (headers) => request.onRates?.(headers));

    const query = queryOf(endpoint, match.queryString);
    const read =
      route.kind === 'write'
        ? request.readBody({
            limitBytes: Math.min(route.bodyLimitBytes, deps.settings.bodyLimitBytes),
            valuesMax: route.bodyValuesMax,
            optional: route.bodyOptional,
            memory: bodyMemoryOf(caller?.tenantId, address),
            lines: linesOf(route),
          })
        : undefined;
    const parsed = read instanceof Promise ? await read : read;
    const body = parsed?.value;
    const itemErrors = parsed && skippableErrors(route, query.values, parsed);
    const bodyErrors =
      parsed === undefined
        ? []
        : itemErrors === undefined
          ? bodyErrorsOf(endpoint, parsed)
          : endpoint.checkBodyWithoutItems(body);
    if (query.fieldErrors.length > 0 || bodyErrors.length > 0) {
      throw invalidFields([...query.fieldErrors, ...bodyErrors]);
    }
    return {
      params: match.params,
      query: query.values,
      body,
      caller,
      address,
      traceId,
      now,
      requestIdentity,
      itemErrors,
      recordDenial: (error, denied) => {
        if (caller !== undefined) {
          deps.recordDenial({ error, route, caller, traceId, body: denied });
        }
      },
      progress: async (progress) => {
        request.onProgress?.(progress);
        await deps.faults('progress', route.id);
        await request.stillAdmitted?.();
      },
    } as HandlerContext;
  }

  async function callHandler(
    endpoint: RouteEndpoint,
    context: HandlerContext,
    request: RouteRequest,
  ): Promise<Reply | StreamedReply> {
    const { route } = endpoint;
    switch (route.run.kind) {
      case 'read':
        return answerRead(endpoint, route.run.handler, context, request);
      case 'stream':
        await deps.faults('handler', route.id);
        return answerStream(route, await route.run.handler(context), request);
      case 'document': {
        await deps.faults('handler', route.id);
        const { contentType, text, headers } = route.run.handler();
        return { status: route.success, headers: { 'content-type': contentType, ...headers }, body: text };
      }
      default:
        return answerWrite(endpoint, route.run, context, request);
    }
  }

  return async (endpoint, request) => {
    const { route } = endpoint;
    let context: HandlerContext | undefined;
    try {
      context = await parseAndValidate(endpoint, request);
      const admitted = context;
      const { caller } = request;
      const orgId = orgIdIn(route, request.match) ?? caller?.tenantId;
      const pending = orgId === undefined ? undefined : deps.postPending?.(orgId);
      if (pending !== undefined) {
        await pending;
      }
      return caller !== undefined && usesDatabaseDirectly(route, request)
        ? await databaseQueue.run(caller.tenantId, () => callHandler(endpoint, admitted, request))
        : await callHandler(endpoint, admitted, request);
    } catch (error) {
      const { caller, traceId } = request;
      if (error instanceof ApiError && caller !== undefined) {
        deps.recordDenial({ error, route, caller, traceId, body: context?.body as object | undefined });
      }
      throw error;
    }
  };
}

/**
 * Returns true for requests that query the database. Decisions and postings wait in the queue of the ledger instead, unless an
 * idempotency key is reserved first.
 */
function usesDatabaseDirectly({ run }: Route, { keyLines }: RouteRequest): boolean {
  switch (run.kind) {
    case 'decision':
    case 'document':
      return false;
    case 'posting':
      return keyLines.length > 0;
    default:
      return true;
  }
}

/** Returns the errors by item. Returns undefined if the request does not skip invalid items, or if its errors do not allow that. */
function skippableErrors(
  { skipsItems }: Route,
  query: ParsedQuery['values'],
  { fieldErrors }: ParsedBody,
): ItemErrors | undefined {
  return skipsItems !== undefined && query[skipsItems.parameter] === skipsItems.value
    ? itemErrorsOf(skipsItems.field, fieldErrors)
    : undefined;
}

function bodyErrorsOf(
  { checkBody }: RouteEndpoint,
  { value, fieldErrors }: ParsedBody,
): readonly FieldError[] {
  const found = checkBody(value);
  // Field names that cannot be stored have an error already. They must not be repeated in the response.
  return fieldErrors.length === 0
    ? found
    : onePerField([...fieldErrors, ...found.filter(({ field }) => isStorable(field))]);
}

/** Returns the query parameters with the defaults of the schema, and their field errors. */
function queryOf({ route, checkQuery }: RouteEndpoint, text: string): ParsedQuery {
  if (text === '' && route.query === undefined) {
    return { values: {}, fieldErrors: [] };
  }
  const { values, fieldErrors } = parseQueryString(text);
  return { values, fieldErrors: onePerField([...fieldErrors, ...checkQuery(values)]) };
}

/** Returns the field that can be sent as lines of JSON, and the maximum number of its items. */
function linesOf({ lines: field, bareItems, body }: Route): JsonList | undefined {
  if (field === undefined) {
    return undefined;
  }
  const items: { maxItems?: number } | undefined = body?.properties[field];
  if (items?.maxItems === undefined) {
    throw new Error(`${field} takes lines of JSON and must declare maxItems`);
  }
  return { field, max: items.maxItems, bareItems };
}

/** Runs the access checks of a credential. Returns undefined for a public route. */
export function admit(
  credential: Credential,
  route: Route,
  match: RouteMatch,
  origin: Pick<AccessRequest, 'address' | 'now' | 'arrivedElsewhere'>,
): Caller | undefined {
  const { access, method } = route;
  const { queryString } = match;
  return access.kind === 'public'
    ? undefined
    : admitCaller({
        credential,
        access,
        method,
        queryString,
        pathOrgId: orgIdIn(route, match),
        address: origin.address,
        now: origin.now,
        arrivedElsewhere: origin.arrivedElsewhere,
      });
}

function orgIdIn({ path }: Route, { params }: RouteMatch): string | undefined {
  return path.startsWith('/v1/orgs/{id}') ? params.id : params.org_id;
}
