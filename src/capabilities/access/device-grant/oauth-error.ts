/** Errors of the OAuth endpoints, in the format of RFC 6749. */
import type { ApiError } from '../../../contract/api-error.ts';
import type { Reply } from '../../../platform/http/message/reply.ts';

export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'temporarily_unavailable'
  | 'server_error';

export class OAuthError extends Error {
  readonly status: number;
  readonly code: OAuthErrorCode;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: OAuthErrorCode, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = 'OAuthError';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function tooManyRequests(seconds: number): OAuthError {
  return new OAuthError(429, 'slow_down', 'Too many requests from your address. Try again later.', seconds);
}

/** Returns the error in the format of OAuth for an error of the pipeline. */
export function oauthErrorOf({ status, message }: ApiError): OAuthError {
  if (status === 503) {
    return new OAuthError(503, 'temporarily_unavailable', message, 1);
  }
  return status >= 500
    ? new OAuthError(status, 'server_error', message)
    : new OAuthError(status === 422 ? 400 : status, 'invalid_request', message);
}

export function oauthReply(status: number, body: object, headers: Reply['headers'] = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}

export function oauthErrorReply({ status, code, message, retryAfterSeconds }: OAuthError): Reply {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { ...oauthReply(status, { error: code, error_description: message }, headers), code };
}
