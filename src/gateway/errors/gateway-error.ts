/** Errors of the gateway, and their responses in the format of the provider, so that every SDK shows and treats them properly. */
import type { ApiError } from '../../contract/api-error.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import type { GatewayErrorCode } from '../../contract/gateway-errors.ts';
import type { ErrorFormat } from '../../kernel/providers/call-format.ts';
import {
  isDeniedByLimit,
  retryHeaders,
  type ShownError,
  shownError,
} from '../../kernel/providers/shown-error.ts';
import type { Reply } from '../../platform/http/message/reply.ts';
import type { RawHead } from '../../platform/http/routes/raw-endpoint.ts';

/** An error of the gateway, with its own code or one of the API. */
export class GatewayError extends Error {
  readonly status: number;
  readonly code: GatewayErrorCode | ErrorCode;
  readonly details: object;

  constructor(status: number, code: GatewayErrorCode | ErrorCode, message: string, details: object = {}) {
    super(message);
    this.name = 'GatewayError';
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Returns the response for an error. */
export function errorReply(
  error: ApiError | GatewayError,
  errors: ErrorFormat,
  { headers, traceId }: Pick<RawHead, 'headers' | 'traceId'>,
): Reply {
  const shown = shownError(error);
  const { status, body } = (isDeniedByLimit(shown) ? errors.limitReplyOf(headers, shown) : undefined) ?? {
    status: shown.status,
    body: errors.bodyOf(shown, traceId),
  };
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...retryHeaders(shown),
      ...errors.headersOf(shown),
      ...runHeader(shown),
    },
    body: JSON.stringify(body),
    code: shown.code,
  };
}

/** Returns the header with the run, under the same name as in successful responses. */
function runHeader({ details }: ShownError): Record<string, string> {
  const { run_id: runId } = details as { run_id?: unknown };
  return typeof runId === 'string' ? { 'x-svc-run-id': runId } : {};
}
