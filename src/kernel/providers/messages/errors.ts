/** Errors in the format of Anthropic. */
import type { ErrorFormat } from '../call-format.ts';
import { messageOf } from '../shown-error.ts';

export const anthropicErrors: ErrorFormat = {
  bodyOf(shown, traceId) {
    const { status, code, details } = shown;
    const type = anthropicTypes[status] ?? 'api_error';
    return { type: 'error', error: { type, message: messageOf(shown), code, details }, request_id: traceId };
  },
  headersOf: () => ({}),
  limitReplyOf: () => undefined,
  limitHeadersOf: () => ({}),
};

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
