/** Errors in the format of OpenAI. */
import type { ErrorFormat } from './call-format.ts';
import { messageOf } from './shown-error.ts';

export const openAiErrors: ErrorFormat = {
  bodyOf(shown) {
    const { status, code, details } = shown;
    const type = openAiTypes[status] ?? 'api_error';
    return { error: { message: messageOf(shown), type, param: null, code, details } };
  },
  headersOf: () => ({}),
  limitReplyOf: () => undefined,
  limitHeadersOf: () => ({}),
};

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
