import type { Caller } from '../../platform/http/routes/access.ts';

/** Returns the caller of a settlement. It was admitted when the call was made, so later changes of its key do not matter. */
export function callerOf(orgId: string, keyId: string): Caller {
  return { tenantId: orgId, keyId, role: 'member', scopes: new Set() };
}
