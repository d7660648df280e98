/** Denials in the error formats of OpenAI and Anthropic, so that every SDK shows and treats them properly. */

/** Formats of requests and responses of providers. */
export type ErrorFormat = 'openai' | 'anthropic';

export interface ShownError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: object;
  /** Follows the message. */
  readonly explanation?: string | undefined;
}

/** 422 is not a status that the SDKs expect for an invalid request; both providers use 400. */
export function shownError(error: ShownError): ShownError {
  const { code, details, message, explanation } = error;
  if (code === 'validation_failed') {
    const { fields = [] } = details as { fields?: { field: string; message: string }[] };
    return { status: 400, code, details, message: fields.map((f) => `${f.field}: ${f.message}`).join(' ') };
  }
  return { status: error.status, code, details, message, explanation };
}

/** Only a rate, an outage and a call in progress clear by waiting for a short time. A denied limit does not clear by a retry at all. */
export function retryHeaders({ status, code, details }: ShownError): Record<string, string> {
  const { retry_after_seconds: seconds } = details as { retry_after_seconds?: number };
  if (code === 'rate_limited' && seconds !== undefined) {
    return { 'retry-after': String(seconds) };
  }
  if (code === 'service_unavailable' || code === 'overloaded' || code === 'idempotency_key_processing') {
    return { 'retry-after': '1' };
  }
  return status === 502 || status === 504 ? {} : { 'x-should-retry': 'false' };
}

/** Returns the time at which the limit that denied the call resets; undefined if it has none. */
export function resetTimeOf({ details }: ShownError): string | undefined {
  const times = details as { resets_at?: unknown; period_end?: unknown; window_end?: unknown };
  const time = times.resets_at ?? times.period_end ?? times.window_end;
  return typeof time === 'string' ? time : undefined;
}

/** The message of an error, with the time at which its limit resets, and its explanation. */
export function messageOf(shown: ShownError): string {
  const { message, explanation } = shown;
  const resetsAt = resetTimeOf(shown);
  const withTime = resetsAt === undefined ? message : `${message} It resets at ${resetsAt}.`;
  return explanation === undefined ? withTime : `${withTime} ${explanation}`;
}

export function errorBody(format: ErrorFormat, shown: ShownError, traceId: string): object {
  const message = messageOf(shown);
  return format === 'anthropic' ? anthropicError(shown, message, traceId) : openAiError(shown, message);
}

function openAiError({ status, code, details }: ShownError, message: string): object {
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

function anthropicError({ status, code, details }: ShownError, message: string, traceId: string): object {
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
