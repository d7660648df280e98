/** Errors as clients see them, whatever their format, so that every SDK shows and treats them properly. */

export interface ShownError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: object;
  /** Text that follows the message. */
  readonly explanation?: string | undefined;
  readonly retry?: ExpectedRetry | undefined;
}

/** The time at which a call that is denied now is expected to fit. */
export interface ExpectedRetry {
  readonly seconds: number;
  readonly at: string;
}

/** 422 is not a status that the SDKs expect for an invalid request; both providers use 400. */
export function shownError(error: ShownError): ShownError {
  const { code, details, message, explanation, retry } = error;
  if (code === 'validation_failed') {
    const { fields = [] } = details as { fields?: { field: string; message: string }[] };
    return { status: 400, code, details, message: fields.map((f) => `${f.field}: ${f.message}`).join(' ') };
  }
  return { status: error.status, code, details, message, explanation, retry };
}

/**
 * Returns the headers that control the retries of SDKs. Rates, outages and calls in progress clear after a short wait. A denial by
 * another limit does not clear by retrying at once: `Retry-After` is for people and tools that wait, and SDKs are told not to retry.
 */
export function retryHeaders({ status, code, details, retry }: ShownError): Record<string, string> {
  const { retry_after_seconds: seconds } = details as { retry_after_seconds?: number };
  if (code === 'rate_limited' && seconds !== undefined) {
    return { 'retry-after': String(seconds) };
  }
  if (code === 'service_unavailable' || code === 'overloaded' || code === 'idempotency_key_processing') {
    return { 'retry-after': '1' };
  }
  if (status === 502 || status === 504) {
    return {};
  }
  return {
    'x-should-retry': 'false',
    ...(retry !== undefined && { 'retry-after': String(retry.seconds) }),
  };
}

/** The period of a limit that never resets ends in 2200, in the time zone of its org. */
const endless = Date.UTC(2199, 0, 1);

/** Returns the time at which the limit that denied the call resets; undefined if the limit never resets. */
export function resetTimeOf({ details }: ShownError): string | undefined {
  const times = details as { resets_at?: unknown; period_end?: unknown; window_end?: unknown };
  const time = times.resets_at ?? times.period_end ?? times.window_end;
  return typeof time === 'string' && Date.parse(time) < endless ? time : undefined;
}

/** The message of an error, with the time at which its limit resets, and its explanation. */
export function messageOf(shown: ShownError): string {
  const { message, explanation } = shown;
  const resetsAt = resetTimeOf(shown);
  const withTime = resetsAt === undefined ? message : `${message} It resets at ${resetsAt}.`;
  return explanation === undefined ? withTime : `${withTime} ${explanation}`;
}

/** True if a limit of the org has denied the call. */
export function isDeniedByLimit({ status, code }: ShownError): boolean {
  return status === 402 || (status === 429 && code !== 'rate_limited');
}
