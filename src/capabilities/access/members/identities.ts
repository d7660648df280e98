/**
 * Maps identities of an identity provider to members. A person is identified by issuer and subject. A verified e-mail address
 * matches only once: a member who was invited, or one who signed in through another provider before the org switched. It never
 * matches a member with another subject of the same provider.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { OrgRole } from '../../../contract/scopes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../orgs/index.ts';
import { isLastOwner, memberChange, newMember } from './members.ts';
import {
  findByEmail,
  findByIdentity,
  insertMember,
  type MemberRow,
  updateMember,
  wasRemoved,
} from './queries.ts';

export interface Identity {
  readonly orgId: string;
  readonly issuer: string;
  readonly subject: string;
  /** E-mail address; undefined if the provider has not verified it. */
  readonly email: string | undefined;
  /** All addresses that the provider states, verified or not. They are only used to keep removed members out. */
  readonly claimedEmails: readonly string[];
  readonly name: string | undefined;
}

export interface IdentityRules {
  /** Role derived from the provider's groups; undefined if groups are not mapped. */
  readonly role: OrgRole | undefined;
  /** Role for a person who is not a member yet; undefined: the sign-in is rejected. */
  readonly newRole: OrgRole | undefined;
}

export interface RecognizedMember {
  readonly member: MemberRow;
  readonly changes: readonly Change[];
}

export async function recognizeMember(
  tx: Transaction,
  ids: Ids,
  now: Date,
  identity: Identity,
  rules: IdentityRules,
): Promise<RecognizedMember> {
  const { orgId, issuer, subject, claimedEmails } = identity;
  // Serializes sign-ins, so that two concurrent first sign-ins of one person create one member.
  await lockOrg(tx, orgId);
  const known = await findByIdentity(tx, orgId, issuer, subject);
  const live = known?.removed_at === null ? known : await findInvited(tx, identity);
  if (live !== undefined) {
    return signedIn(tx, now, live, identity, rules);
  }
  // E-mail addresses are compared too. The same person has another subject at another provider, which may not verify addresses.
  if (known !== undefined || (await wasRemoved(tx, orgId, claimedEmails))) {
    throw apiError('forbidden', 'You were removed from this organization. Ask an owner to invite you again.');
  }
  if (rules.newRole === undefined) {
    throw apiError('forbidden', 'You are not a member of this organization. Ask an owner to invite you.');
  }
  return join(tx, ids, now, identity, rules.newRole);
}

/**
 * Returns the current member with this identity, or the member that the e-mail address would sign in. If there is neither, returns
 * the removed member with this identity.
 */
export async function findMemberOf(
  tx: Transaction,
  { orgId, issuer, subject, email }: Identity,
): Promise<MemberRow | undefined> {
  const known = await findByIdentity(tx, orgId, issuer, subject);
  if (known?.removed_at === null) {
    return known;
  }
  const invited = email === undefined ? undefined : await findByEmail(tx, orgId, email);
  return invited === undefined || invited.issuer === issuer ? known : invited;
}

async function findInvited(tx: Transaction, identity: Identity): Promise<MemberRow | undefined> {
  const { orgId, issuer, email } = identity;
  const member = email === undefined ? undefined : await findByEmail(tx, orgId, email);
  if (member?.issuer === issuer) {
    throw apiError('forbidden', 'Your e-mail address belongs to another member of this organization.');
  }
  return member;
}

async function signedIn(
  tx: Transaction,
  now: Date,
  before: MemberRow,
  { issuer, subject, name }: Identity,
  { role }: IdentityRules,
): Promise<RecognizedMember> {
  // The last owner of an org stays an owner, regardless of groups.
  const keepsRole = role === undefined || (role !== 'owner' && (await isLastOwner(tx, before)));
  const after: MemberRow = {
    ...before,
    name: name ?? before.name,
    role: keepsRole ? before.role : role,
    issuer,
    subject,
    link_digest: null,
    link_expires_at: null,
    joined_at: before.joined_at ?? now,
    last_sign_in_at: now,
    updated_at: now,
  };
  await updateMember(tx, after);
  if (before.joined_at === null) {
    return { member: after, changes: [memberChange({ before, after }, 'member.joined')] };
  }
  const isChanged = before.role !== after.role || before.issuer !== issuer || before.subject !== subject;
  return { member: after, changes: isChanged ? [memberChange({ before, after }, 'member.updated')] : [] };
}

async function join(
  tx: Transaction,
  ids: Ids,
  now: Date,
  { orgId, issuer, subject, email, name }: Identity,
  role: OrgRole,
): Promise<RecognizedMember> {
  const person = { orgId, name: name ?? email ?? subject, email: email ?? null, role };
  const member: MemberRow = {
    ...newMember(ids, now, person),
    issuer,
    subject,
    joined_at: now,
    last_sign_in_at: now,
  };
  if (!(await insertMember(tx, member))) {
    throw apiError('conflict', 'Someone else signed in as the same person at the same time. Try again.');
  }
  return { member, changes: [memberChange({ after: member }, 'member.joined')] };
}
