/** Which refused calls are worth an entry: those of somebody who tried what he may not do. */
import type { ErrorCode } from '../../../contract/errors.ts';
import type { RefusedCall } from '../../../platform/http/pipeline/refused-call.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import type { Attempt } from './attempts.ts';

const recorded = new Set<ErrorCode>([
  'forbidden',
  'missing_scope',
  'ip_not_allowed',
  'support_scope_denied',
  'residency_violation',
]);

/** It is kept with the org whose key it was. Undefined: not worth an entry. */
export function refusedAttempt(call: RefusedCall): Attempt | undefined {
  const { error, route, params, credential, address, traceId, at } = call;
  // What support asks for is on record already. An org of another region has its log there, and nothing of it here.
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
