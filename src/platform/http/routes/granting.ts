/** Granting access to a key or a person. A caller can grant at most its own role and scopes, within its locked attribution. */
import { apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { type Role, scopes } from '../../../contract/scopes.ts';
import { type Caller, outranks } from './access.ts';

/** Scopes of a signed-in member: all, limited by the role. */
export const memberScopes: ReadonlySet<string> = new Set(scopes);

/** Throws unless the caller may grant this role and these scopes. Operators have no scopes, and may grant any role in an org. */
export function checkMayGrant(caller: Caller, role: Role, granted: Iterable<string>): void {
  if (outranks(role, caller.role)) {
    throw apiError('forbidden', `The role ${caller.role} cannot grant the role ${role}.`);
  }
  const missing = caller.role === 'operator' ? [] : [...granted].filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) {
    throw apiError('forbidden', `You cannot grant scopes that you do not have: ${missing.join(', ')}.`);
  }
}

/**
 * Throws unless the caller may grant a membership. A member has every scope, so the caller must have all of them. The locked
 * attribution of a key does not apply to members, so a key with locks could bypass them through a member.
 */
export function checkMayGrantMembership(caller: Caller, role: Role): void {
  checkMayGrant(caller, role, memberScopes);
  const field = isMember(caller) ? undefined : caller.attribution?.locked[0];
  if (field !== undefined) {
    throw apiErrorWithDetails(
      'forbidden',
      { field },
      `Your key fixes the value of \`${field}\`. It cannot grant access to members, for whom this value is not fixed.`,
    );
  }
}

/**
 * Returns true for a signed-in member, who may manage keys of services and other people. The locks of a member's session fix the
 * attribution of its spend, not the access that it manages.
 */
export function isMember({ session }: Caller): boolean {
  return session?.actor === 'member';
}
