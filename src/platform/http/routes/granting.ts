/** Granting access to a key or a person: a caller can grant at most its own role and scopes, within its locked attribution. */
import { apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { type Role, scopes } from '../../../contract/scopes.ts';
import { type Caller, outranks } from './access.ts';

/** Scopes of a member who is signed in: all, limited by the role. */
export const memberScopes: ReadonlySet<string> = new Set(scopes);

/** Operators have no scopes, and may grant any role of an org. */
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
 * A member has every scope, so inviting a member or signing one in requires all of them. The attribution that is locked for
 * a key does not apply to members, so such a key would lose its locks.
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
 * True for a signed-in member, who may manage keys of services and other people. The lock of a member's session fixes who
 * spends with it, not whose access it manages.
 */
export function isMember({ session }: Caller): boolean {
  return session?.actor === 'member';
}
