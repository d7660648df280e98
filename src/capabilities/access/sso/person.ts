/** Maps the claims of an identity provider about a person to a role. Pure functions. */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import type { OrgRole } from '../../../contract/scopes.ts';
import { outranks } from '../../../platform/http/routes/access.ts';
import type { Identity, IdentityRules } from '../members/index.ts';
import type { SsoConnectionRow } from './queries.ts';

/** A person as the identity provider describes them. Addresses are in lowercase. */
export interface Person extends Omit<Identity, 'orgId'> {
  readonly groups: readonly string[];
}

type Rules = Pick<
  SsoConnectionRow,
  'role_mapping' | 'default_role' | 'just_in_time' | 'allowed_email_domains'
>;

/** Returns the rights that the connection grants to the person, or the error of a rejected sign-in. */
export function rulesFor(person: Person, connection: Rules): IdentityRules | ApiError {
  if (!hasAllowedDomain(person, connection)) {
    return apiError('forbidden', 'Your e-mail address is not allowed to sign in to this organization.');
  }
  const { role_mapping, default_role, just_in_time } = connection;
  if (role_mapping.length === 0) {
    return { role: undefined, newRole: just_in_time ? (default_role ?? undefined) : undefined };
  }
  const role = highest(role_mapping.filter(({ group }) => person.groups.includes(group))) ?? default_role;
  if (role === null) {
    return apiError('forbidden', 'None of your groups has a role in this organization.');
  }
  return { role, newRole: just_in_time ? role : undefined };
}

function hasAllowedDomain({ email }: Person, { allowed_email_domains }: Rules): boolean {
  const domain = email?.split('@')[1];
  return (
    allowed_email_domains.length === 0 || (domain !== undefined && allowed_email_domains.includes(domain))
  );
}

function highest(found: readonly { readonly role: OrgRole }[]): OrgRole | undefined {
  return found
    .map(({ role }) => role)
    .reduce<OrgRole | undefined>(
      (best, role) => (best === undefined || outranks(role, best) ? role : best),
      undefined,
    );
}

const textMax = 300;

/**
 * Returns the text of a claim or attribute exactly as the provider wrote it; undefined if it is blank, not a string, or cannot be
 * stored. It is not trimmed: to a provider, ` root` and `root` are two subjects and may be two people.
 */
export function textOf(value: unknown): string | undefined {
  const isText =
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= textMax &&
    !value.includes('\u0000') &&
    value.isWellFormed();
  return isText ? value : undefined;
}

/** Matches exactly one `@` and no whitespace. Excludes the two characters whose lowercase is an ASCII letter. */
const emailPattern = /^[^\s@\u0130\u212a]+@[^\s@\u0130\u212a]+$/;

/** Returns the e-mail address in lowercase; undefined if the value is not an address. */
export function emailOf(value: unknown): string | undefined {
  const text = textOf(value);
  return text !== undefined && emailPattern.test(text) ? text.toLowerCase() : undefined;
}

export function displayName(value: unknown): string | undefined {
  return textOf(value)?.trim();
}

/** Returns the usable texts of a value or a list. */
export function textsOf(value: unknown): string[] {
  return [value].flat().flatMap((item) => textOf(item) ?? []);
}
