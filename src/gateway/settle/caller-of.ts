import type { Caller } from '../../platform/http/routes/access.ts';

/** The caller was admitted when the call was made; its settlement does not depend on what happened to its key since. */
export function callerOf(orgId: string, keyId: string): Caller {
  return { tenantId: orgId, keyId, role: 'member', scopes: new Set() };
}
