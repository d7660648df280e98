/**
 * Calls the API from within this process, for console pages on behalf of their visitor. It runs the same checks as a request over a
 * socket, so access, validation and the audit log have one implementation.
 */
import { ApiError, apiError } from '../../../contract/api-error.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import { parseJsonObject } from '../message/json.ts';
import { errorReply, type LogError, type Reply, type StreamedReply } from '../message/reply.ts';
import type { Credential } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';
import type { Router } from '../routes/router.ts';
import { type AnswerRoute, admit, type RouteRequest } from './answer-route.ts';
import { stillAdmitted } from './long-stream.ts';
import type { OnRefusedCall } from './refused-call.ts';
import { onRecord, type RecordImpersonated } from './support-session.ts';

export interface InProcessRequest {
  readonly credential: Credential;
  readonly foundAt: Date;
  /** Finds the credential again. Called if the credential was found some time ago, and repeatedly during a long response. */
  findAgain(now: Date): Promise<Credential | undefined>;
  readonly address: string;
  readonly traceId: string;
  readonly method: Route['method'];
  /** The path with its query string. */
  readonly path: string;
  readonly body?: object;
  /** The `Idempotency-Key` of a write, such as a form that a browser may submit again. */
  readonly idempotencyKey?: string | undefined;
  /** The `If-Match` of a change: the version that the visitor has seen. */
  readonly ifMatch?: string | undefined;
  /** Called with the progress if the response takes long to compute. */
  readonly onProgress?: RouteRequest['onProgress'];
}

/** The message of the log line of each call. */
export const inProcessRequest = 'in-process request';

export type InProcessClient = (request: InProcessRequest) => Promise<Reply | StreamedReply>;

/**
 * Returns the error of the first failing access check, from key status to role; undefined if all pass. Does not call, count or
 * record anything.
 */
export type CheckAccess = (
  request: Pick<InProcessRequest, 'credential' | 'address' | 'method' | 'path'>,
) => ApiError | undefined;

export function createCheckAccess({
  router,
  clock,
}: Pick<InProcessClientDependencies, 'router' | 'clock'>): CheckAccess {
  return ({ credential, address, method, path }) => {
    const match = router.find(method, path);
    if (match instanceof ApiError || match.endpoint.kind !== 'route') {
      return apiError('not_found', 'There is no such route.');
    }
    try {
      admit(credential, match.endpoint.route, match, { address, now: clock.now() });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) {
        return error;
      }
      throw error;
    }
  };
}

export interface InProcessClientDependencies {
  readonly router: Router;
  readonly clock: Clock;
  readonly log: Log;
  readonly logError: LogError;
  readonly answerRoute: AnswerRoute;
  readonly onRefusedCall: OnRefusedCall;
  readonly recordImpersonated: RecordImpersonated;
}

export function createInProcessClient(deps: InProcessClientDependencies): InProcessClient {
  const { router, clock, log, logError, answerRoute, onRefusedCall } = deps;
  return async (request) => {
    const { credential, foundAt, findAgain, address, traceId, method, path, body, onProgress } = request;
    const { idempotencyKey } = request;
    const match = router.find(method, path);
    try {
      if (match instanceof ApiError) {
        throw match;
      }
      const { endpoint } = match;
      if (endpoint.kind !== 'route') {
        throw apiError('not_found', 'There is no such route.');
      }
      const now = clock.now();
      const { route } = endpoint;
      const examine = (found: Credential, at: Date) => admit(found, route, match, { address, now: at });
      const isStillAdmitted = stillAdmitted({ clock, foundAt, find: findAgain, examine });
      await isStillAdmitted();
      const reply = await answerRoute(endpoint, {
        address,
        traceId,
        now,
        match,
        caller:
          credential.support === undefined
            ? examine(credential, now)
            : await onRecord(
                deps.recordImpersonated,
                credential,
                { route, method, url: path, address, traceId, now },
                () => examine(credential, now),
              ),
        stillAdmitted: isStillAdmitted,
        // Serialized and parsed again, so that the same rules apply as to a body over HTTP.
        readBody: async () => parseJsonObject(Buffer.from(JSON.stringify(body ?? {}))),
        keyLines: idempotencyKey === undefined ? [] : [idempotencyKey],
        ifMatch: request.ifMatch,
        onProgress,
      });
      // Logged with the page's trace id, so that the log has a page and its calls together. At level `trace`, because the path may
      // name a person.
      log.trace({ traceId, method, path, status: reply.status }, inProcessRequest);
      return reply;
    } catch (error) {
      const failed = logError(error, traceId);
      if (!(match instanceof ApiError) && match.endpoint.kind === 'route') {
        const { route } = match.endpoint;
        onRefusedCall({
          error: failed,
          route,
          params: match.params,
          credential,
          address,
          traceId,
          at: clock.now(),
        });
      }
      log.trace({ traceId, method, path, status: failed.status }, inProcessRequest);
      return errorReply(failed);
    }
  };
}
