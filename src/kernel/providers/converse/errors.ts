/** Errors in the format of AWS. SDKs find the type of an error in a header. */
import type { ErrorFormat } from '../call-format.ts';
import { messageOf } from '../shown-error.ts';

export const awsErrors: ErrorFormat = {
  bodyOf(shown) {
    const { code, details } = shown;
    return { message: messageOf(shown), code, details };
  },
  headersOf: ({ status }) => ({ 'x-amzn-errortype': types[status] ?? 'InternalServerException' }),
  limitReplyOf: () => undefined,
  limitHeadersOf: () => ({}),
};

const types: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  402: 'ServiceQuotaExceededException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  409: 'ConflictException',
  410: 'UnrecognizedClientException',
  413: 'ValidationException',
  426: 'ValidationException',
  429: 'ThrottlingException',
  502: 'ServiceUnavailableException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
};
