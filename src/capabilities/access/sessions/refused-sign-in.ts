/** The audit entry of a failed sign-in. */
import type { ApiError } from '../../../contract/api-error.ts';
import type { Visit } from '../../../platform/http/routes/page.ts';
import type { Actor, RejectedAttempt } from '../../compliance/audit/index.ts';

export function refusedSignIn(
  tenantId: string,
  actor: Pick<Actor, 'kind' | 'id'>,
  { code, message }: ApiError,
  { now, address, traceId }: Pick<Visit, 'now' | 'address' | 'traceId'>,
): RejectedAttempt {
  return {
    tenantId,
    actor: { ...actor, at: now, address, traceId },
    action: 'sessions.open',
    outcome: 'denied',
    code,
    target: { kind: 'tenant', id: tenantId },
    detail: { reason: message },
  };
}
