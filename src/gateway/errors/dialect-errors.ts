/** Errors of the gateway in the formats of OpenAI and Anthropic, so that every SDK shows and treats them properly. */

import type { Dialect } from '../../capabilities/integration/connections/index.ts';
import type { ApiError } from '../../contract/api-error.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import type { GatewayErrorCode } from '../../contract/gateway-errors.ts';
import {
  errorBody,
  messageOf,
  resetTimeOf,
  retryHeaders,
  type ShownError,
  shownError,
} from '../../kernel/providers/error-body.ts';
import type { Reply } from '../../platform/http/message/reply.ts';

/** An error of the gateway itself, with a code of its own or one of the API. */
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

export interface DialectRequest {
  readonly dialect: Dialect;
  /** True for Codex on `/responses`: it shows this one answer to a denial properly, and does not repeat the request. */
  readonly isCodexResponse: boolean;
  readonly traceId: string;
}

/** Returns the response for an error of a check or of the gateway, in the format of the dialect. */
export function dialectErrorReply(error: ApiError | GatewayError, request: DialectRequest): Reply {
  const shown = shownError(error);
  const resetsAt = resetTimeOf(shown);
  const message = messageOf(shown);
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...retryHeaders(shown),
    ...runHeader(shown),
  };
  if (request.isCodexResponse && isDeniedByLimit(shown)) {
    return {
      status: 429,
      headers: { ...headers, 'x-should-retry': 'false' },
      body: JSON.stringify({ error: codexError(shown, message, resetsAt) }),
      code: shown.code,
    };
  }
  const body = errorBody(request.dialect, shown, request.traceId);
  return { status: shown.status, headers, body: JSON.stringify(body), code: shown.code };
}

/** Names the run in the header that responses of calls have. */
function runHeader({ details }: ShownError): Record<string, string> {
  const { run_id: runId } = details as { run_id?: unknown };
  return typeof runId === 'string' ? { 'x-svc-run-id': runId } : {};
}

function isDeniedByLimit({ status, code }: ShownError): boolean {
  return status === 402 || (status === 429 && code !== 'rate_limited');
}

function codexError({ code, details }: ShownError, message: string, resetsAt: string | undefined) {
  return {
    type: 'usage_limit_reached',
    message,
    code,
    ...(resetsAt !== undefined && { resets_at: Math.ceil(new Date(resetsAt).getTime() / 1_000) }),
    details,
  };
}
