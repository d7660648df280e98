/**
 * What coding tools call below `/code/{org_slug}`: discovery, sign-in and tokens, which are here, and models, settings and telemetry,
 * which other components serve.
 */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import { callFormats } from '../../../kernel/providers/formats.ts';
import { retryHeaders, type ShownError, shownError } from '../../../kernel/providers/shown-error.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { storableParameters } from '../../../platform/http/message/body.ts';
import {
  createLogError,
  jsonReply,
  type Reply,
  type StreamedReply,
} from '../../../platform/http/message/reply.ts';
import { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import {
  type IdentifyRawDependencies,
  identifyRawCaller,
  type RawAccess,
} from '../../../platform/http/pipeline/identify-raw-caller.ts';
import type { RawEndpoint, RawHead, RawRequest } from '../../../platform/http/routes/raw-endpoint.ts';
import type { Log } from '../../../platform/log.ts';
import { findOrgBySlug, type OrgRow, orgChanged } from '../orgs/index.ts';
import { type AuthorizationDependencies, createAuthorization } from './authorization.ts';
import { codePath, codeUrls } from './base-urls.ts';
import { OAuthError, oauthErrorOf, oauthErrorReply, oauthReply } from './oauth-error.ts';
import { createTokenEndpoint, deviceGrant, type TokenDependencies } from './token-endpoint.ts';

const cachedSlugsMax = 10_000;
/** Size of the largest form: a token, a client id and a grant type. */
const formBytesMax = 8_192;
const formType = /^application\/x-www-form-urlencoded(\s*;|$)/i;

export interface CodeEndpointDependencies
  extends AuthorizationDependencies,
    Omit<TokenDependencies, 'backoff'>,
    IdentifyRawDependencies {
  readonly db: Database;
  readonly log: Log;
  /** Maximum number of unknown codes and tokens per minute and client address. */
  readonly backoffAttempts: number;
  /** Serves `/anthropic`. Undefined if the gateway is turned off. */
  readonly inference: RawEndpoint | undefined;
  /** Serves `/otlp`, for callers who may call models. */
  readonly telemetry: RawEndpoint;
}

/** A request below the base address of an org. */
interface CodeRequest {
  readonly slug: string;
  /** The path below the base address, with a slash at its start. */
  readonly path: string;
  /** The query string with its question mark, or nothing. */
  readonly query: string;
}

const access: RawAccess = {
  access: { kind: 'org', scope: 'gateway:call', role: 'member' },
  operation: { id: 'code.call', path: codePath },
  keyHeaders: ['x-api-key'],
  invalidKey: 'The token is not valid. Sign in again.',
};

const inferencePaths: ReadonlySet<string> = new Set([
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/models',
]);
const telemetryPaths: ReadonlySet<string> = new Set(['/v1/traces', '/v1/logs', '/v1/metrics']);

export function createCodeEndpoint(deps: CodeEndpointDependencies): RawEndpoint {
  const { db, clock, log, baseUrl, inference, telemetry } = deps;
  const logError = createLogError(log);
  /** Ids of orgs by slug. Cleared when any org changes. */
  const orgIds = new NotifiedCache<string | undefined>(db, {
    maxEntries: cachedSlugsMax,
    onChange: (_, listener) => orgChanged.on(db, () => listener(null)),
    load: async (slug) => (await findOrgBySlug(db, slug))?.id,
  });
  const authorize = createAuthorization(deps);
  const tokens = createTokenEndpoint({
    ...deps,
    // Separate from the backoff of keys, so that wrong codes from an office do not keep its keys from working.
    backoff: new AuthBackoff(deps.backoffAttempts, clock),
  });

  function discovery(slug: string): Reply {
    const urls = codeUrls(baseUrl(), slug);
    return oauthReply(200, {
      issuer: urls.base,
      device_authorization_endpoint: urls.deviceAuthorization,
      token_endpoint: urls.token,
      revocation_endpoint: urls.revocation,
      grant_types_supported: [deviceGrant, 'refresh_token'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      gateway_protocol_version: 1,
    });
  }

  async function requireOrg(slug: string): Promise<OrgRow> {
    const org = await findOrgBySlug(db, slug);
    if (org === undefined) {
      throw new OAuthError(404, 'invalid_request', 'There is no organization at this address.');
    }
    return org;
  }

  async function formOf(request: RawRequest): Promise<URLSearchParams> {
    if (!formType.test(request.headers['content-type'] ?? '')) {
      throw new OAuthError(
        400,
        'invalid_request',
        'The content type must be application/x-www-form-urlencoded.',
      );
    }
    const body = await request.readBody(formBytesMax, undefined);
    return storableParameters(body.toString('utf8'));
  }

  async function oauth(request: RawRequest, { slug, path }: CodeRequest): Promise<Reply> {
    const { address, now, traceId, headers } = request;
    const form = await formOf(request);
    const org = await requireOrg(slug);
    switch (path) {
      case '/oauth/device_authorization':
        return oauthReply(
          200,
          await authorize({ org, form, address, now, userAgent: headers['user-agent'] }),
        );
      case '/oauth/token':
        return oauthReply(200, await tokens.exchange({ org, form, address, now, traceId }));
      default:
        await tokens.revoke({ org, form, address, now, traceId });
        return oauthReply(200, {});
    }
  }

  async function answerOAuth(request: RawRequest, wanted: CodeRequest): Promise<Reply> {
    try {
      return await oauth(request, wanted);
    } catch (error) {
      return oauthErrorReply(
        error instanceof OAuthError ? error : oauthErrorOf(logError(error, request.traceId)),
      );
    }
  }

  /** Returns the request for the endpoint that serves it. Throws for a caller of another org once the caller is known. */
  async function passedOn(
    request: RawRequest,
    { slug, query }: CodeRequest,
    path: string,
  ): Promise<RawRequest> {
    const orgId = await orgIds.get(slug);
    return {
      ...request,
      url: `${path}${query}`,
      identified(caller) {
        if (caller.tenantId !== orgId) {
          throw foreign();
        }
        request.identified(caller);
      },
    };
  }

  async function answer(request: RawRequest): Promise<Reply | StreamedReply> {
    const wanted = codeRequestOf(request.url);
    const { slug, path } = wanted;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && path === '/.well-known/oauth-authorization-server') {
      return discovery(slug);
    }
    if (request.method === 'POST' && oauthPaths.has(path)) {
      return answerOAuth(request, wanted);
    }
    if (inferencePaths.has(path) && inference !== undefined) {
      return asProtocol(await inference.handler(await passedOn(request, wanted, `${inference.path}${path}`)));
    }
    if (telemetryPaths.has(path)) {
      return telemetry.handler(await passedOn(request, wanted, `${telemetry.path}${path}`));
    }
    if (isRead && (path === '' || path === '/')) {
      return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: welcome };
    }
    await identifyRawCaller(deps, await passedOn(request, wanted, path), access);
    throw apiError('not_found', `${request.method} ${path.slice(0, 200)} is not served here.`);
  }

  return {
    path: codePath,
    async handler(request) {
      try {
        return await answer(request);
      } catch (error) {
        return errorReply(logError(error, request.traceId), request);
      }
    },
    refused: errorReply,
  };
}

const oauthPaths: ReadonlySet<string> = new Set([
  '/oauth/device_authorization',
  '/oauth/token',
  '/oauth/revoke',
]);
const welcome = 'Purser: enter this address in a coding tool to sign in.\n';

function foreign(): ApiError {
  return apiError('unauthorized', 'The token belongs to another organization.');
}

function codeRequestOf(url: string): CodeRequest {
  const mark = url.indexOf('?');
  const whole = mark === -1 ? url : url.slice(0, mark);
  const [, , slug = '', ...rest] = whole.split('/');
  return {
    slug,
    path: rest.length === 0 ? '' : `/${rest.join('/')}`,
    query: mark === -1 ? '' : url.slice(mark),
  };
}

/**
 * Statuses that tools expect for errors: 401, after which they sign in again, instead of the 410 of a revoked key, and 400 for what a
 * policy denies.
 */
function protocolStatusOf(code: string | undefined): number | undefined {
  switch (code) {
    case 'gone':
      return 401;
    case 'policy_blocked':
    case 'policy_approval_required':
    case 'content_safety_blocked':
      return 400;
    default:
      return undefined;
  }
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
};

function asProtocol(reply: Reply | StreamedReply): Reply | StreamedReply {
  const status = protocolStatusOf(reply.code);
  if (status === undefined || typeof reply.body !== 'string') {
    return reply;
  }
  const body = JSON.parse(reply.body) as { readonly error: object };
  return {
    ...reply,
    status,
    body: JSON.stringify({ ...body, error: { ...body.error, type: errorTypes[status] } }),
  };
}

function errorReply(error: ApiError, { traceId }: RawHead): Reply {
  const shown: ShownError = shownError({ ...error, message: error.message });
  const status = protocolStatusOf(error.code) ?? shown.status;
  const body = callFormats.messages.errors.bodyOf({ ...shown, status }, traceId);
  return { ...jsonReply(status, JSON.stringify(body), retryHeaders(shown)), code: error.code };
}
