import { found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { checkMayGrantMembership } from '../../../platform/http/routes/granting.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { revoked, revokeMemberKeys } from '../keys/index.ts';
import { endSignIns } from '../tool-sign-ins/index.ts';
import type { MemberLinks } from './links.ts';
import type { MemberMails } from './mails.ts';
import { inviteMember, memberChange, patchMember, removeMember, viewMember } from './members.ts';
import { findMember, listMembers } from './queries.ts';
import { InvitedMember, InviteMember, MemberFilters, MemberView, PatchMember } from './schema.ts';

export interface MemberDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly links: MemberLinks;
  readonly mails: Pick<MemberMails, 'enqueue'>;
}

const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;
const needsEveryScope =
  'The caller must have every scope (otherwise `forbidden`), because a signed-in member has every scope.';

export function memberRoutes({ db, ids, links, mails }: MemberDependencies): Route[] {
  return [
    write({
      id: 'members.invite',
      method: 'POST',
      path: '/v1/orgs/{id}/members',
      summary: 'Invite a member',
      description:
        'Returns a link that signs the person in, once, within 72 hours. It is also sent by e-mail if the deployment has a ' +
        'mail server: see `emailed`. A person who signs in by SSO with this ' +
        'e-mail address, verified by the identity provider, also accepts the invitation. ' +
        needsEveryScope,
      access: owner,
      body: InviteMember,
      success: 201,
      response: InvitedMember,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        checkMayGrantMembership(caller, body.role);
        const { id } = await inviteMember(tx, ids, now, params.id, body);
        const { after, url } = await links.make(tx, now, { orgId: params.id, memberId: id });
        const emailed = await mails.enqueue(tx, after, url, now);
        return {
          body: { ...viewMember(after), sign_in_url: url, emailed },
          changes: [memberChange({ after }, 'member.invited')],
        };
      },
    }),
    read({
      id: 'members.list',
      path: '/v1/orgs/{id}/members',
      summary: 'List members',
      access: reader,
      query: MemberFilters,
      response: page(MemberView),
      handler: ({ params, query }) => viewPage(listMembers(db, params.id, query), viewMember),
    }),
    read({
      id: 'members.read',
      path: '/v1/orgs/{id}/members/{member_id}',
      summary: 'Get a member',
      access: reader,
      response: MemberView,
      handler: async ({ params }) => viewMember(found(await findMember(db, params.id, params.member_id))),
    }),
    write({
      id: 'members.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/members/{member_id}',
      summary: 'Update the role or name of a member',
      description:
        'The role applies from the next request. The last owner cannot be demoted (`conflict`). If SSO maps groups ' +
        'to roles, the next sign-in sets the role again. To change the role: ' +
        needsEveryScope,
      access: owner,
      body: PatchMember,
      response: MemberView,
      unversionedFields: ['last_sign_in_at'],
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const id = { orgId: params.id, memberId: params.member_id };
        const change = await patchMember(tx, now, caller, id, body);
        return changed('member', change, viewMember, 'member.updated');
      },
    }),
    write({
      id: 'members.remove',
      method: 'DELETE',
      path: '/v1/orgs/{id}/members/{member_id}',
      summary: 'Remove a member or cancel an invitation',
      description:
        "Ends the member's sessions, sign-ins from tools, and keys that are locked to the member, immediately. Signing in by SSO does not restore the member; a new invitation " +
        'does. The last owner cannot be removed (`conflict`).',
      access: owner,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        const id = { orgId: params.id, memberId: params.member_id };
        const change = await removeMember(tx, now, id);
        const tools = await endSignIns(tx, id.orgId, { memberId: id.memberId }, 'member_removed', now);
        const keys = await revokeMemberKeys(tx, now, id.orgId, id.memberId);
        const changes = [
          memberChange(change, 'member.removed'),
          ...tools,
          ...keys.flatMap((ended) => revoked(ended, now).changes),
        ];
        return { body: {}, changes };
      },
    }),
    write({
      id: 'members.sign_in_link',
      method: 'POST',
      path: '/v1/orgs/{id}/members/{member_id}/sign-in-link',
      summary: 'Create a new sign-in link for a member',
      description:
        'For a lost invitation, and for members without SSO. It is also sent by e-mail, like an invitation. The link can be used once, within 72 hours, and ' +
        'replaces the previous one. ' +
        needsEveryScope,
      access: owner,
      response: InvitedMember,
      async handler({ params, caller, now }, tx) {
        const id = { orgId: params.id, memberId: params.member_id };
        const { before, after, url } = await links.make(tx, now, id);
        // Checks the role that was read under the lock. If the check fails, the link is rolled back.
        checkMayGrantMembership(caller, before.role);
        const emailed = await mails.enqueue(tx, after, url, now);
        return {
          body: { ...viewMember(after), sign_in_url: url, emailed },
          changes: [memberChange({ before, after }, 'member.updated')],
        };
      },
    }),
  ];
}
