/** From what an identity provider says of a person to what that gives them here. Pure. */
import { refuse } from '../../contract/refusal.ts';
import { type OrgRole, outranks } from '../../platform/http/access.ts';
import type { IdentityRules } from '../members/index.ts';
import type { ConnectionRow } from './queries.ts';

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  /** Only if the provider vouches for it; in lowercase. */
  readonly email: string | undefined;
  readonly name: string | undefined;
  readonly groups: readonly string[];
}

type Rules = Pick<ConnectionRow, 'role_mapping' | 'default_role' | 'just_in_time' | 'allowed_email_domains'>;

export function rulesFor(person: Person, connection: Rules): IdentityRules {
  checkDomain(person, connection);
  const { role_mapping, default_role, just_in_time } = connection;
  if (role_mapping.length === 0) {
    return { role: undefined, newRole: just_in_time ? (default_role ?? undefined) : undefined };
  }
  const role = highest(role_mapping.filter(({ group }) => person.groups.includes(group))) ?? default_role;
  if (role === null) {
    throw refuse('forbidden', 'None of your groups has a role in this organization.');
  }
  return { role, newRole: just_in_time ? role : undefined };
}

function checkDomain({ email }: Person, { allowed_email_domains }: Rules): void {
  const domain = email?.slice(email.lastIndexOf('@') + 1);
  if (allowed_email_domains.length > 0 && (domain === undefined || !allowed_email_domains.includes(domain))) {
    throw refuse('forbidden', 'Your e-mail address is not one that may sign in to this organization.');
  }
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

/** A text of a claim or attribute that can be stored and shown; undefined for anything else. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' || text.length > textMax || text.includes('\u0000') || !text.isWellFormed()
    ? undefined
    : text;
}

/** One or a list. */
export function textsOf(value: unknown): string[] {
  return [value].flat().flatMap((item) => textOf(item) ?? []);
}
