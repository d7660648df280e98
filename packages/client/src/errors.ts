/** The errors of the client. `PurserApiError` is what the service returned; the others never reached it, or got no response. */
import type { ErrorCodeName, ErrorDetails } from './generated/types.ts';

export class PurserError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PurserError';
  }
}

/**
 * An error of the API. Switch on `code`, which is stable; `is` narrows the type of `details`. A service that is newer than this package
 * may return further codes.
 */
export class PurserApiError<Code extends ErrorCodeName = ErrorCodeName> extends PurserError {
  readonly status: number;
  readonly code: Code;
  readonly details: ErrorDetails[Code];
  /** Finds the request in the log of the service. */
  readonly traceId: string | undefined;
  /** From the header `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(fields: {
    readonly status: number;
    readonly code: Code;
    readonly message: string;
    readonly details: ErrorDetails[Code];
    readonly traceId?: string | undefined;
    readonly retryAfterSeconds?: number | undefined;
  }) {
    super(fields.message);
    this.name = 'PurserApiError';
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.traceId = fields.traceId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }

  is<Expected extends ErrorCodeName>(code: Expected): this is PurserApiError<Expected> {
    return (this.code as ErrorCodeName) === code;
  }

  /** True if the same request may succeed a little later. */
  get isTransient(): boolean {
    return (
      this.status >= 502 ||
      this.is('service_unavailable') ||
      this.is('idempotency_key_processing') ||
      this.is('rate_limited')
    );
  }
}

/** The service did not answer: the connection failed, or was lost. */
export class PurserConnectionError extends PurserError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PurserConnectionError';
  }
}

/** The service did not answer in time. */
export class PurserTimeoutError extends PurserConnectionError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PurserTimeoutError';
  }
}

/** True if the service could not be reached or could not decide; a denial is not such an error. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof PurserConnectionError || (error instanceof PurserApiError && error.status >= 500);
}
