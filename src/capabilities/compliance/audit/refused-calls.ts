/** Records calls that were denied for lack of permission in the audit log. */
import type { ErrorCode } from '../../../contract/errors.ts';
import type { OnRefusedCall, RefusedCall } from '../../../platform/http/pipeline/refused-call.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import type { Attempts, RejectedAttempt } from './attempts.ts';

const recorded = new Set<ErrorCode>([
  'forbidden',
  'missing_scope',
  'ip_not_allowed',
  'support_scope_denied',
  'residency_violation',
]);

export function auditRefusedCalls(attempts: Pick<Attempts, 'note'>): OnRefusedCall {
  return (call) => {
    const attempt = refusedAttempt(call);
    if (attempt !== undefined) {
      attempts.note(attempt);
    }
  };
}

/** Returns the entry, for the log of the org whose key was used, or undefined if the call is not recorded. */
function refusedAttempt(call: RefusedCall): RejectedAttempt | undefined {
  const { error, route, params, credential, address, traceId, at } = call;
  // Support requests have their own record. The log of an org of another region is kept there.
  const isElsewhere = credential.org?.residency?.isHere === false;
  if (!recorded.has(error.code) || credential.support !== undefined || isElsewhere) {
    return undefined;
  }
  const kind = credential.session?.actor ?? (credential.role === 'operator' ? 'operator' : 'key');
  return {
    tenantId: credential.org?.id ?? platformTenant,
    actor: { kind, id: credential.keyId, at, address, traceId },
    action: route.id,
    outcome: 'denied',
    code: error.code,
    target: { kind: 'operation', id: `${route.method} ${route.path}` },
    detail: { params, ...error.details },
  };
}
