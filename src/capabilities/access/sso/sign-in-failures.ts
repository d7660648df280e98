/** Failed steps of a sign-in: their log lines and audit entries, and the messages for the person. */
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import type { PageAnswer, Visit } from '../../../platform/http/routes/page.ts';
import type { Log } from '../../../platform/log.ts';
import type { Attempts } from '../../compliance/audit/index.ts';
import { refusedSignIn } from '../sessions/index.ts';

export const tooManyFailed = 'Too many failed sign-ins from your address. Try again in a minute.';

export interface FailureDependencies {
  readonly log: Log;
  readonly attempts: Pick<Attempts, 'note'>;
  readonly backoff: AuthBackoff;
}

/**
 * Runs `work`, which verifies the provider's response. Errors are logged, and only an `ApiError` is shown, because the response may
 * be an attack, and library errors expose internals.
 */
export async function hideVerificationErrors<Result>(
  { log }: FailureDependencies,
  { traceId }: Visit,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    log.info({ traceId, reason: causeOf(error) }, 'sign-in response rejected');
    throw error instanceof ApiError
      ? error
      : apiError('forbidden', 'The response of the identity provider is invalid. Start again.');
  }
}

/** Runs `work`. A failed sign-in is recorded in the org's audit log, and failures are limited per client address. */
export async function recordFailedSignIn(
  { attempts, backoff }: FailureDependencies,
  orgId: string,
  visit: Visit,
  work: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    attempts.note(refusedSignIn(orgId, { kind: 'service', id: 'sso' }, error, visit));
    const seconds = backoff.failed(visit.address);
    throw seconds === undefined ? error : rateLimited(seconds, tooManyFailed);
  }
}

export function rateLimited(seconds: number, message: string): ApiError {
  return apiErrorWithDetails('rate_limited', { retry_after_seconds: seconds }, message);
}

/** Returns the message of an error with that of its cause. For an OAuth error, returns the provider's description. */
export function causeOf(error: unknown): string {
  const {
    message,
    cause,
    error: code,
    error_description: description,
  } = error as Error & {
    readonly error?: unknown;
    readonly error_description?: unknown;
  };
  const parts = [message, code, description, cause instanceof Error ? cause.message : undefined];
  return parts.filter((part) => typeof part === 'string' && part !== '').join(': ');
}
