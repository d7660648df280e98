/** Life cycle of a member: invited, joined by a first sign-in, changed, removed. An org that has an owner keeps one. */

import { apiError } from '../../../contract/api-error.ts';
import type { EventType } from '../../../contract/events.ts';
import type { OrgRole } from '../../../contract/scopes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { checkMayGrantMembership } from '../../../platform/http/routes/granting.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../orgs/index.ts';
import { hasOtherOwner, insertMember, lockMember, type MemberRow, updateMember } from './queries.ts';
import type { InviteMember, MemberStatus, MemberView, PatchMember } from './schema.ts';

export function memberStatus({ joined_at, removed_at }: MemberRow): MemberStatus {
  return removed_at !== null ? 'removed' : joined_at === null ? 'invited' : 'active';
}

export function viewMember(member: MemberRow): MemberView {
  const time = (at: Date | null) => at?.toISOString() ?? null;
  return {
    id: member.id,
    name: member.name,
    email: member.email,
    role: member.role,
    status: memberStatus(member),
    issuer: member.issuer,
    subject: member.subject,
    link_expires_at: time(member.link_expires_at),
    created_at: member.created_at.toISOString(),
    updated_at: member.updated_at.toISOString(),
    joined_at: time(member.joined_at),
    last_sign_in_at: time(member.last_sign_in_at),
    removed_at: time(member.removed_at),
  };
}

export interface MemberChange {
  readonly before?: MemberRow;
  readonly after: MemberRow;
}

export function memberChange({ before, after }: MemberChange, event: EventType): Change {
  return changeOf('member', after, { before: before && viewMember(before), after: viewMember(after) }, event);
}

export interface NewMember {
  readonly orgId: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: OrgRole;
}

/** Creates the row of a member who has not signed in yet. */
export function newMember(ids: Ids, now: Date, { orgId, name, email, role }: NewMember): MemberRow {
  return {
    org_id: orgId,
    id: ids.next('mem'),
    name,
    email,
    role,
    issuer: null,
    subject: null,
    link_digest: null,
    link_expires_at: null,
    created_at: now,
    updated_at: now,
    joined_at: null,
    last_sign_in_at: null,
    removed_at: null,
  };
}

export async function inviteMember(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { email, name, role }: InviteMember,
): Promise<MemberRow> {
  const member = newMember(ids, now, { orgId, name: name ?? email, email: email.toLowerCase(), role });
  if (!(await insertMember(tx, member))) {
    throw apiError('conflict', 'A member or invitation with this e-mail address already exists.');
  }
  return member;
}

export interface MemberId {
  readonly orgId: string;
  readonly memberId: string;
}

export async function patchMember(
  tx: Transaction,
  now: Date,
  caller: Caller,
  id: MemberId,
  patch: PatchMember,
): Promise<Required<MemberChange>> {
  return changeMember(tx, id, async (member) => {
    if (patch.role !== undefined && patch.role !== member.role) {
      checkMayGrantMembership(caller, patch.role);
    }
    if (patch.role !== undefined && patch.role !== 'owner') {
      await keepAnOwner(tx, member);
    }
    return { ...patch, updated_at: now };
  });
}

/** Removes a member. This also ends the member's sessions, because they check their member on each request. */
export async function removeMember(
  tx: Transaction,
  now: Date,
  id: MemberId,
): Promise<Required<MemberChange>> {
  return changeMember(tx, id, async (member) => {
    await keepAnOwner(tx, member);
    return { removed_at: now, updated_at: now, link_digest: null, link_expires_at: null };
  });
}

/** Reads, decides and writes under the org's lock, so that two owners who remove each other at the same time are serialized. */
export async function changeMember(
  tx: Transaction,
  { orgId, memberId }: MemberId,
  decide: (member: MemberRow) => Promise<Partial<MemberRow>>,
): Promise<Required<MemberChange>> {
  await lockOrg(tx, orgId);
  const before = await lockMember(tx, orgId, memberId);
  if (before === undefined || before.removed_at !== null) {
    throw apiError('not_found');
  }
  const after = { ...before, ...(await decide(before)) };
  await updateMember(tx, after);
  return { before, after };
}

async function keepAnOwner(tx: Transaction, member: MemberRow): Promise<void> {
  if (await isLastOwner(tx, member)) {
    throw apiError('conflict', 'This is the last owner. Make another member an owner first.');
  }
}

export async function isLastOwner(tx: Transaction, member: MemberRow): Promise<boolean> {
  return member.role === 'owner' && memberStatus(member) === 'active' && !(await hasOtherOwner(tx, member));
}
