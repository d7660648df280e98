import { found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  createGrant,
  decideGrant,
  grantChange,
  openSession,
  putSettings,
  revokeGrant,
  viewGrant,
  viewSession,
} from './grants.ts';
import { type AccessRow, findGrant, findSettings, listAccess, listGrants } from './queries.ts';
import {
  AccessEntry,
  AccessFilters,
  CreateGrant,
  GrantFilters,
  GrantView,
  OpenedSession,
  OwnGrantFilters,
  SettingsView,
} from './schema.ts';

export interface SupportDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'org:write', role: 'admin' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;

export function supportRoutes(deps: SupportDependencies): Route[] {
  return [...operatorRoutes(deps), ...orgRoutes(deps)];
}

function operatorRoutes({ db, ids }: SupportDependencies): Route[] {
  return [
    write({
      id: 'support.grants.create',
      method: 'POST',
      path: '/v1/admin/support/grants',
      summary: 'Create a support grant',
      description:
        'A grant cannot be changed: more access requires a new grant. If the organization requires approval, the ' +
        'grant is `pending` until it is approved. Returns `conflict` if the organization has forbidden support ' +
        'access.',
      access: operator,
      body: CreateGrant,
      success: 201,
      response: GrantView,
      errors: ['conflict'],
      async handler(call, tx) {
        const after = await createGrant(tx, ids, call, call.body);
        return {
          body: viewGrant(after, call.now),
          changes: [grantChange({ after }, call.now, 'support.grant_created')],
        };
      },
    }),
    read({
      id: 'support.grants.list',
      path: '/v1/admin/support/grants',
      summary: 'List support grants',
      access: operator,
      query: GrantFilters,
      response: page(GrantView),
      handler: ({ query, now }) => grantPage(db, query, now),
    }),
    read({
      id: 'support.grants.read',
      path: '/v1/admin/support/grants/{grant_id}',
      summary: 'Get a support grant',
      access: operator,
      response: GrantView,
      handler: async ({ params, now }) => viewGrant(found(await findGrant(db, null, params.grant_id)), now),
    }),
    write({
      id: 'support.sessions.open',
      method: 'POST',
      path: '/v1/admin/support/grants/{grant_id}/sessions',
      summary: 'Open a support session',
      description:
        'Use the token as a bearer token, within the scope of the grant and until it ends. Every request is ' +
        "recorded, also in the organization's audit log, under the key that opened the session. The session ends " +
        'with that key.',
      access: operator,
      success: 201,
      response: OpenedSession,
      errors: ['conflict'],
      async handler(call, tx) {
        const { session, grant, token } = await openSession(tx, ids, call, call.params.grant_id);
        const after = viewSession(session, grant);
        const change = changeOf('support_session', session, { after }, 'support.session_opened');
        return { body: { ...after, token }, changes: [change] };
      },
    }),
    write({
      id: 'support.grants.revoke',
      method: 'DELETE',
      path: '/v1/admin/support/grants/{grant_id}',
      summary: 'Revoke a support grant',
      description: 'Its sessions return 410 `gone` from then on. Revoking it again has no effect.',
      access: operator,
      async handler(call, tx) {
        const move = await revokeGrant(tx, ids, call, { orgId: null, grantId: call.params.grant_id });
        return {
          body: {},
          changes: move === undefined ? [] : [grantChange(move, call.now, 'support.grant_revoked')],
        };
      },
    }),
  ];
}

function orgRoutes({ db, ids }: SupportDependencies): Route[] {
  return [
    read({
      id: 'support_access.list',
      path: '/v1/orgs/{id}/support-access',
      summary: 'List support access',
      description:
        'Grants, decisions about them, sessions, and every request under a grant, allowed or denied.',
      access: reader,
      query: AccessFilters,
      response: page(AccessEntry),
      handler: ({ params, query }) => viewPage(listAccess(db, params.id, query), viewAccess),
    }),
    read({
      id: 'support_access.settings.read',
      path: '/v1/orgs/{id}/support-access/settings',
      summary: 'Get the support access settings',
      access: reader,
      response: SettingsView,
      handler: ({ params }) => findSettings(db, params.id),
    }),
    write({
      id: 'support_access.settings.put',
      method: 'PUT',
      path: '/v1/orgs/{id}/support-access/settings',
      summary: 'Update the support access settings',
      description: 'Forbidding support access revokes every open grant immediately.',
      access: owner,
      body: SettingsView,
      response: SettingsView,
      async handler(call, tx) {
        const { before, revoked } = await putSettings(tx, ids, call, call.params.id, call.body);
        const views = { before, after: call.body };
        const change = changeOf('support_settings', call.params.id, views, 'support.settings_updated');
        const ended = revoked.map((move) => grantChange(move, call.now, 'support.grant_revoked'));
        return { body: call.body, changes: [change, ...ended] };
      },
    }),
    read({
      id: 'support_access.grants.list',
      path: '/v1/orgs/{id}/support-access/grants',
      summary: 'List support grants for your organization',
      access: reader,
      query: OwnGrantFilters,
      response: page(GrantView),
      handler: ({ params, query, now }) => grantPage(db, { ...query, org_id: params.id }, now),
    }),
    decision('approve', ids),
    decision('deny', ids),
    write({
      id: 'support_access.grants.revoke',
      method: 'DELETE',
      path: '/v1/orgs/{id}/support-access/grants/{grant_id}',
      summary: 'Revoke a support grant for your organization',
      access: admin,
      async handler(call, tx) {
        const { id: orgId, grant_id: grantId } = call.params;
        const move = await revokeGrant(tx, ids, call, { orgId, grantId });
        return {
          body: {},
          changes: move === undefined ? [] : [grantChange(move, call.now, 'support.grant_revoked')],
        };
      },
    }),
  ];
}

function decision(verb: 'approve' | 'deny', ids: Ids): Route {
  const approved = verb === 'approve';
  return write({
    id: `support_access.grants.${verb}`,
    method: 'POST',
    path: `/v1/orgs/{id}/support-access/grants/{grant_id}/${verb}`,
    summary: approved ? 'Approve a support grant' : 'Deny a support grant',
    description: 'Returns `conflict` if the grant is not pending.',
    access: admin,
    response: GrantView,
    errors: ['conflict'],
    async handler(call, tx) {
      const { id: orgId, grant_id: grantId } = call.params;
      const move = await decideGrant(tx, ids, call, { orgId, grantId, approved });
      const event = approved ? 'support.grant_approved' : 'support.grant_denied';
      return { body: viewGrant(move.after, call.now), changes: [grantChange(move, call.now, event)] };
    },
  });
}

async function grantPage(db: Database, query: GrantFilters, now: Date) {
  return viewPage(listGrants(db, query, now), (grant) => viewGrant(grant, now));
}

function viewAccess({ org_id: _, at, ...row }: AccessRow): AccessEntry {
  return { ...row, at: at.toISOString() };
}
