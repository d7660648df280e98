/** Answers a request of a route once it is known who asks: its rate, its body, its validity, its handler. */

import { ApiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { BodyRules } from '../message/body.ts';
import type { ParsedBody } from '../message/json.ts';
import { isStorable } from '../message/json-errors.ts';
import type { JsonList } from '../message/json-survey.ts';
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
import type { Endpoint, Match } from '../routes/router.ts';
import { onePerField } from '../routes/validation.ts';
import { type StillAdmitted, whileAdmitted } from './long-stream.ts';
import { type CheckRequestRate, throwIfRateLimited } from './request-rate.ts';
import { createWriter, type WriterDependencies } from './write.ts';

export interface AnswerRouteDependencies extends WriterDependencies {
  readonly settings: { readonly bodyLimitBytes: number } & WriterDependencies['settings'];
  /** Counts a request that was admitted so far. */
  readonly takeRequest: CheckRequestRate;
  /** Told of what was refused to somebody who was let in. */
  noteRefusal(refusal: ApiError, route: Route, caller: Caller, body: object | undefined): void;
}

/** What a route needs of a request, wherever it comes from. */
export interface RouteRequest {
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
  readonly match: Match;
  /** Undefined for a public route. */
  readonly caller: Caller | undefined;
  readBody(rules: BodyRules): ParsedBody | Promise<ParsedBody>;
  /** The values of the `Idempotency-Key` header as they were sent. */
  readonly keyLines: readonly string[];
  readonly requestIdentity?: HandlerContext['requestIdentity'];
  /** For answers that last, and for those that take long to find. */
  readonly stillAdmitted?: StillAdmitted | undefined;
  /** Whoever wants to see how far long work is. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export type RouteEndpoint = Extract<Endpoint, { kind: 'route' }>;
export type AnswerRoute = (endpoint: RouteEndpoint, asked: RouteRequest) => Promise<Reply | StreamedReply>;
type ReadHandler = Extract<Route['run'], { kind: 'read' }>['handler'];

export function createAnswerRoute(deps: AnswerRouteDependencies): AnswerRoute {
  const answerWrite = createWriter(deps);

  async function answerRead(
    route: Route,
    handler: ReadHandler,
    call: HandlerContext,
    asked: RouteRequest,
  ): Promise<Reply | StreamedReply> {
    await deps.faults('handler', route.id);
    const answer = await handler(call);
    await asked.stillAdmitted?.();
    return route.contentTypes !== undefined && isStream(answer)
      ? answerStream(route, answer, asked)
      : jsonReply(route.success, JSON.stringify(answer));
  }

  function answerStream(
    route: Route,
    answer: StreamResponse,
    { stillAdmitted }: RouteRequest,
  ): Promise<StreamedReply> {
    const lasting = stillAdmitted === undefined ? answer : whileAdmitted(answer, stillAdmitted);
    return streamReply(route.success, lasting);
  }

  /** Its rate, its query and its body: what the handler is called with. */
  async function understand(endpoint: RouteEndpoint, asked: RouteRequest): Promise<HandlerContext> {
    const { match, caller, address, traceId, now, requestIdentity } = asked;
    const { route } = endpoint;
    const rate = caller && deps.takeRequest(caller, route, now.getTime());
    throwIfRateLimited(rate instanceof Promise ? await rate : rate);

    const query = queryOf(endpoint, match.queryString);
    const read =
      route.kind === 'write'
        ? asked.readBody({
            limitBytes: Math.min(route.bodyLimitBytes, deps.settings.bodyLimitBytes),
            optional: route.bodyOptional,
            lines: linesOf(route),
          })
        : undefined;
    const parsed = read instanceof Promise ? await read : read;
    const body = parsed?.value;
    const faultyBody = parsed === undefined ? [] : fieldErrorsOf(endpoint, parsed);
    if (query.fieldErrors.length > 0 || faultyBody.length > 0) {
      throw invalidFields([...query.fieldErrors, ...faultyBody]);
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
      progress: async (made) => {
        asked.onProgress?.(made);
        await deps.faults('progress', route.id);
        await asked.stillAdmitted?.();
      },
    } as HandlerContext;
  }

  async function answerCall(
    route: Route,
    call: HandlerContext,
    asked: RouteRequest,
  ): Promise<Reply | StreamedReply> {
    switch (route.run.kind) {
      case 'read':
        return answerRead(route, route.run.handler, call, asked);
      case 'stream':
        await deps.faults('handler', route.id);
        return answerStream(route, await route.run.handler(call), asked);
      case 'document': {
        await deps.faults('handler', route.id);
        const { contentType, text, headers } = route.run.handler();
        return { status: route.success, headers: { 'content-type': contentType, ...headers }, body: text };
      }
      default:
        return answerWrite(route, route.run, call, asked.keyLines);
    }
  }

  return async (endpoint, asked) => {
    const { route } = endpoint;
    let call: HandlerContext | undefined;
    try {
      call = await understand(endpoint, asked);
      return await answerCall(route, call, asked);
    } catch (error) {
      if (error instanceof ApiError && asked.caller !== undefined) {
        deps.noteRefusal(error, route, asked.caller, call?.body as object | undefined);
      }
      throw error;
    }
  };
}

function fieldErrorsOf(
  { checkBody }: RouteEndpoint,
  { value, fieldErrors }: ParsedBody,
): readonly FieldError[] {
  const found = checkBody(value);
  // A name that no store can hold is a fault already, and is not repeated in the answer.
  return fieldErrors.length === 0
    ? found
    : onePerField([...fieldErrors, ...found.filter(({ field }) => isStorable(field))]);
}

/** Its values, with what the schema fills in, and every fault of theirs. Most writes have no query at all. */
function queryOf({ route, checkQuery }: RouteEndpoint, text: string): ParsedQuery {
  if (text === '' && route.query === undefined) {
    return { values: {}, fieldErrors: [] };
  }
  const { values, fieldErrors } = parseQueryString(text);
  return { values, fieldErrors: onePerField([...fieldErrors, ...checkQuery(values)]) };
}

/** As many lines as there may be items. */
function linesOf({ lines: field, body }: Route): JsonList | undefined {
  if (field === undefined) {
    return undefined;
  }
  const items: { maxItems?: number } | undefined = body?.properties[field];
  if (items?.maxItems === undefined) {
    throw new Error(`the lines of ${field} need a bound`);
  }
  return { field, max: items.maxItems };
}

/** Examines a credential that was found. Undefined: the route is open to everyone. */
export function admit(
  credential: Credential,
  { access, method, path }: Route,
  { params, queryString }: Match,
  whence: Pick<AccessRequest, 'address' | 'now' | 'arrivedElsewhere'>,
): Caller | undefined {
  const pathOrgId = path.startsWith('/v1/orgs/{id}') ? params.id : params.org_id;
  return access.kind === 'public'
    ? undefined
    : admitCaller({ credential, access, method, queryString, pathOrgId, ...whence });
}
