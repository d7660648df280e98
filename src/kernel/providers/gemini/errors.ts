/** Errors in the format of Google's APIs. */
import type { ErrorFormat } from '../call-format.ts';
import { messageOf } from '../shown-error.ts';

export const geminiErrors: ErrorFormat = {
  bodyOf(shown) {
    const { status, code, details } = shown;
    return { error: googleError(status, messageOf(shown), code, details) };
  },
  headersOf: () => ({}),
  limitReplyOf: () => undefined,
  limitHeadersOf: () => ({}),
};

/** Returns the error. `reason` is the code of Purser: clients of Google read the numeric one. */
export function googleError(status: number, message: string, reason: string, details: object = {}): object {
  return {
    code: status,
    message,
    status: statuses[status] ?? 'INTERNAL',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'purser', metadata: details },
    ],
  };
}

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  410: 'UNAUTHENTICATED',
  413: 'INVALID_ARGUMENT',
  426: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};
