/**
 * Finds the credential of a request and checks it against the route: token or session, then `admit` (key status to role). Returns
 * synchronously if the credential is cached, so that the usual request does not wait.
 */
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { ErrorCode } from '../../../contract/errors.ts';
import { bearerToken, presentedToken, type RequestHead } from '../message/request-head.ts';
import type { Caller, Credential } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';
import type { RouteMatch } from '../routes/router.ts';
import { admit } from './answer-route.ts';
import type { AuthBackoff } from './auth-backoff.ts';
import { checkNotCrossSite } from './cross-site.ts';
import type { SessionFinder } from './found-session.ts';
import { forwardHeader } from './regions.ts';
import type { RequestContext } from './request-context.ts';
import { onRecord, type RecordImpersonated } from './support-session.ts';

export interface IdentifyDependencies {
  readonly backoff: AuthBackoff;
  /** Finds the credential of a token, synchronously if it is cached; undefined if there is none. */
  findCredential(token: string, address: string): Found | Promise<Found>;
  /** Finds the credential of a support session by its token; undefined if there is none. */
  findSupportSession(token: string, address: string): Promise<Found>;
  readonly sessions: SessionFinder;
  readonly recordImpersonated: RecordImpersonated;
  /** Returns the URL at which browsers reach this service. */
  baseUrl(): string;
}

type Found = Credential | undefined;
type IdentifiedBy = Pick<RequestContext, 'request' | 'now' | 'address'>;

export interface Identify {
  /** Returns the caller; undefined for a public route. Throws the error of the first check that fails. */
  identify(
    context: RequestContext,
    route: Route,
    match: RouteMatch,
  ): Caller | undefined | Promise<Caller | undefined>;
  /** Returns the credential; undefined if the token or cookie is unknown. A bearer token takes precedence over a cookie. */
  findCredential(context: IdentifiedBy): Found | Promise<Found>;
  /** Throws unless the credential permits this request to the route. */
  checkAdmission(
    context: RequestContext,
    credential: Credential,
    route: Route,
    match: RouteMatch,
    now: Date,
  ): Caller | undefined;
  /**
   * Records the result of `decide` if the token is that of a support session; does nothing otherwise. For results that do not
   * depend on the caller, because these must be recorded too.
   */
  recordIfSupport(context: RequestContext, decide: () => undefined): Promise<undefined>;
}

export function createIdentify(deps: IdentifyDependencies): Identify {
  function identify(
    context: RequestContext,
    route: Route,
    match: RouteMatch,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (route.access.kind === 'public') {
      return context.request.headers.authorization === undefined
        ? undefined
        : recordIfSupport(context, () => undefined);
    }
    const found = findCredential(context);
    return found instanceof Promise
      ? found.then((credential) => checkFound(context, route, match, credential))
      : checkFound(context, route, match, found);
  }

  function checkFound(
    context: RequestContext,
    route: Route,
    match: RouteMatch,
    credential: Found,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (credential === undefined) {
      const retryAfterSeconds = deps.backoff.failed(context.address);
      throw retryAfterSeconds === undefined
        ? apiError('unauthorized')
        : apiErrorWithDetails(
            'rate_limited',
            { retry_after_seconds: retryAfterSeconds },
            'Too many failed tokens from this address; see Retry-After.',
          );
    }
    context.credential = credential;
    const check = () => checkOwner(context, credential, route, match);
    return credential.support === undefined
      ? check()
      : onRecord(deps.recordImpersonated, credential, recordOf(context), check);
  }

  /**
   * Throws 404 instead of 403 if the resource in the path does not belong to the caller's org, so that callers cannot probe for
   * resources.
   */
  function checkOwner(
    context: RequestContext,
    credential: Credential,
    route: Route,
    match: RouteMatch,
  ): Caller | undefined | Promise<Caller | undefined> {
    try {
      return checkAdmission(context, credential, route, match, context.now);
    } catch (error) {
      if (route.isOwn === undefined || !isDeniedToCaller(error)) {
        throw error;
      }
      const { org } = credential;
      const owned = org === null ? Promise.resolve(false) : route.isOwn(org.id, match.params);
      return owned.then((isOwn) => {
        throw isOwn ? error : apiError('not_found');
      });
    }
  }

  function checkAdmission(
    { request, address }: RequestContext,
    credential: Credential,
    route: Route,
    match: RouteMatch,
    now: Date,
  ): Caller | undefined {
    // The header counts even if this region could not verify it, because this region's own clock or secret may be wrong.
    const arrivedElsewhere = request.headers[forwardHeader] !== undefined;
    return admit(credential, route, match, { address, now, arrivedElsewhere });
  }

  async function recordIfSupport(context: RequestContext, decide: () => undefined): Promise<undefined> {
    const token = presentedToken(context.request);
    const credential =
      token === undefined ? undefined : await deps.findSupportSession(token, context.address);
    if (credential !== undefined) {
      await onRecord(deps.recordImpersonated, credential, recordOf(context), decide);
    }
  }

  function findCredential({ request, now, address }: IdentifiedBy): Found | Promise<Found> {
    return request.headers.authorization === undefined
      ? findSession(request, now)
      : deps.findCredential(bearerToken(request), address);
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

  return { identify, findCredential, checkAdmission, recordIfSupport };
}

const deniedToCaller: ReadonlySet<ErrorCode> = new Set([
  'missing_scope',
  'forbidden',
  'support_scope_denied',
]);

function isDeniedToCaller(error: unknown): boolean {
  return error instanceof ApiError && deniedToCaller.has(error.code);
}

function recordOf({ request, endpoint, address, traceId, now }: RequestContext) {
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
