/** Errors of the gateway in the formats of OpenAI and Anthropic, so that every SDK shows and treats them properly. */

import type { Dialect } from '../../capabilities/integration/connections/index.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { Reply } from '../../platform/http/message/reply.ts';

/** An error of the gateway itself, which the API has no code for. */
export class GatewayError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: object;

  constructor(status: number, code: string, message: string, details: object = {}) {
    super(message);
    this.name = 'GatewayError';
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export interface DialectRequest {
  readonly dialect: Dialect;
  /** True for Codex on `/responses`: it shows this one answer to a denial properly, and does not repeat the request. */
  readonly isCodexResponse: boolean;
  readonly traceId: string;
}

type Shown = Pick<ApiError, 'status' | 'message' | 'details'> & { readonly code: string };

/** Returns the response for an error of a check or of the gateway, in the format of the dialect. */
export function dialectErrorReply(error: ApiError | GatewayError, request: DialectRequest): Reply {
  const shown = shownError(error);
  const resetsAt = resetTimeOf(shown);
  const message = resetsAt === undefined ? shown.message : `${shown.message} It resets at ${resetsAt}.`;
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...retryHeaders(shown),
  };
  if (request.isCodexResponse && isDeniedByLimit(shown)) {
    return {
      status: 429,
      headers: { ...headers, 'x-should-retry': 'false' },
      body: JSON.stringify({ error: codexError(shown, message, resetsAt) }),
      code: shown.code,
    };
  }
  const body =
    request.dialect === 'anthropic'
      ? anthropicError(shown, message, request.traceId)
      : openAiError(shown, message);
  return { status: shown.status, headers, body: JSON.stringify(body), code: shown.code };
}

/** 422 is not a status that the SDKs expect for an invalid request; both providers use 400. */
function shownError(error: ApiError | GatewayError): Shown {
  const { code, details, message } = error;
  if (error instanceof ApiError && code === 'validation_failed') {
    const { fields = [] } = details as { fields?: { field: string; message: string }[] };
    return { status: 400, code, details, message: fields.map((f) => `${f.field}: ${f.message}`).join(' ') };
  }
  return { status: error.status, code, details, message };
}

/** Only a rate clears by waiting for a short time. A denied limit does not clear by a retry at all. */
function retryHeaders({ status, code, details }: Shown): Record<string, string> {
  const { retry_after_seconds: seconds } = details as { retry_after_seconds?: number };
  if (code === 'rate_limited' && seconds !== undefined) {
    return { 'retry-after': String(seconds) };
  }
  if (code === 'service_unavailable' || code === 'overloaded') {
    return { 'retry-after': '1' };
  }
  return status === 502 || status === 504 ? {} : { 'x-should-retry': 'false' };
}

function isDeniedByLimit({ status, code }: Shown): boolean {
  return status === 402 || (status === 429 && code !== 'rate_limited');
}

/** Returns the time at which the limit that denied the call resets; undefined if it has none. */
function resetTimeOf({ details }: Shown): string | undefined {
  const times = details as { resets_at?: unknown; period_end?: unknown; window_end?: unknown };
  const time = times.resets_at ?? times.period_end ?? times.window_end;
  return typeof time === 'string' ? time : undefined;
}

function codexError({ code, details }: Shown, message: string, resetsAt: string | undefined) {
  return {
    type: 'usage_limit_reached',
    message,
    code,
    ...(resetsAt !== undefined && { resets_at: Math.ceil(new Date(resetsAt).getTime() / 1_000) }),
    details,
  };
}

function openAiError({ status, code, details }: Shown, message: string): object {
  return { error: { message, type: openAiTypes[status] ?? 'api_error', param: null, code, details } };
}

const openAiTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'invalid_request_error',
  409: 'invalid_request_error',
  410: 'authentication_error',
  413: 'invalid_request_error',
  429: 'rate_limit_error',
};

function anthropicError({ status, code, details }: Shown, message: string, traceId: string): object {
  const type = anthropicTypes[status] ?? 'api_error';
  return { type: 'error', error: { type, message, code, details }, request_id: traceId };
}

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'invalid_request_error',
  410: 'authentication_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};
