/** The decision before a call: allowed with a hold, denied, or, if the service is unavailable, as the fail mode says. */
import { isUnavailable, PurserApiError, PurserConnectionError } from './errors.ts';
import type { Decision, DecisionRequest } from './generated/types.ts';
import type { ErrorHook } from './settlements.ts';
import type { Transport } from './transport.ts';

export type FailMode = 'open' | 'closed';

export interface AdmissionOptions {
  readonly transport: Transport;
  /** Time for a decision, retries included. */
  readonly timeoutMs: number;
  readonly failMode: FailMode;
  readonly onError: ErrorHook;
  /** Releases the hold of a decision whose answer did not arrive. */
  abandon(request: DecisionRequest, idempotencyKey: string): void;
}

/**
 * Returns the decision; undefined if the call may be made without one, because the service is unavailable and the fail mode is open.
 * Throws a `PurserApiError` if the call is denied.
 */
export async function decide(
  { transport, timeoutMs, failMode, onError, abandon }: AdmissionOptions,
  body: DecisionRequest,
  signal?: AbortSignal,
): Promise<Decision | undefined> {
  signal?.throwIfAborted();
  const idempotencyKey = crypto.randomUUID();
  try {
    const decision = await transport.send({
      method: 'POST',
      path: '/v1/edge/decision',
      body,
      idempotencyKey,
      timeoutMs,
      deadlineMs: timeoutMs,
      ...(signal !== undefined && { signal }),
    });
    return decision as Decision;
  } catch (error) {
    if (mayHold(error)) {
      abandon(body, idempotencyKey);
    }
    if (!isUnavailable(error) || failMode === 'closed') {
      throw error instanceof PurserConnectionError ? unavailable(error) : error;
    }
    onError(error, { operation: 'decide' });
    return undefined;
  }
}

/**
 * Holds more for a call. Returns false if a limit denies that, or if the service is unavailable and the fail mode is closed. `withinMs`: time
 * after which the hold no longer covers the call.
 */
export async function increase(
  { transport, timeoutMs, failMode, onError }: AdmissionOptions,
  decisionId: string,
  outputTokens: number,
  withinMs: number,
): Promise<boolean> {
  const send = (body: object) =>
    transport.send({
      method: 'POST',
      path: `/v1/decisions/${encodeURIComponent(decisionId)}/increase`,
      body,
      timeoutMs,
      deadlineMs: Math.max(timeoutMs, withinMs),
    });
  try {
    await send({ output_tokens: outputTokens }).catch((error) => {
      if (!(error instanceof PurserApiError && error.is('validation_failed'))) {
        throw error;
      }
      // The hold of a model without a price counts tokens alone.
      return send({ cost_usd: '0', tokens: outputTokens });
    });
    return true;
  } catch (error) {
    if (!isUnavailable(error)) {
      return false;
    }
    onError(error, { operation: 'increase' });
    return failMode === 'open';
  }
}

/** True if the service may have decided without an answer: it was slow, the connection broke, the caller left, or a proxy gave up. */
function mayHold(error: unknown): boolean {
  return !(error instanceof PurserApiError) || error.status === 502 || error.status === 504;
}

/** Denies in the same way as a service that cannot decide. */
function unavailable(cause: PurserConnectionError): PurserApiError {
  const error = new PurserApiError({
    status: 503,
    code: 'service_unavailable',
    message: `${cause.message} The call is denied, because the fail mode is \`closed\`.`,
    details: {},
  });
  error.cause = cause;
  return error;
}
