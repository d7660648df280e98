/** The one rule for giving access to a key or a person: a caller gives at most its own role and scopes. */
import { apiError } from '../../../contract/api-error.ts';
import { type Role, scopes } from '../../../contract/scopes.ts';
import { type Caller, outranks } from './access.ts';

/** The scopes of a member who is signed in: everything that the role allows. */
export const memberScopes: ReadonlySet<string> = new Set(scopes);

/** Operators have no scopes; they may give any role of an org. */
export function checkMayGrant(caller: Caller, role: Role, granted: Iterable<string>): void {
  if (outranks(role, caller.role)) {
    throw apiError('forbidden', `The role ${caller.role} cannot give the role ${role}.`);
  }
  const missing = caller.role === 'operator' ? [] : [...granted].filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) {
    throw apiError('forbidden', `You cannot give scopes that you do not have: ${missing.join(', ')}.`);
  }
}

/** A person who signs in gets the role with every scope, so inviting a person or signing one in needs all of them. */
export function checkMayGrantMembership(caller: Caller, role: Role): void {
  checkMayGrant(caller, role, memberScopes);
}
