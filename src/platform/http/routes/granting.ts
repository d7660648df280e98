/** Granting access to a key or a person: a caller can grant at most its own role and scopes. */
import { apiError } from '../../../contract/api-error.ts';
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

/** A member has every scope, so inviting a member or signing one in requires all of them. */
export function checkMayGrantMembership(caller: Caller, role: Role): void {
  checkMayGrant(caller, role, memberScopes);
}
