import { found } from '../../../contract/api-error.ts';
import type { EventType } from '../../../contract/events.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Change, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { clearAllowList, putAllowList } from './ip-allow-list.ts';
import { createOrg, type OrgChange, patchOrg, reinstateOrg, suspendOrg, viewOrg } from './orgs.ts';
import { findOrg, listOrgs, type OrgRow } from './queries.ts';
import {
  CreateOrg,
  IpAllowListView,
  OrgFilters,
  OrgView,
  PatchOrg,
  PatchOwnOrg,
  PutIpAllowList,
  SuspendOrg,
} from './schema.ts';

export interface OrgDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;

export function orgRoutes({ db, ids }: OrgDependencies): Route[] {
  async function requireOrg(orgId: string): Promise<OrgRow> {
    return found(await findOrg(db, orgId));
  }

  return [
    write({
      id: 'orgs.create',
      method: 'POST',
      path: '/v1/admin/orgs',
      summary: 'Create an organization',
      description: 'Without `slug`, one is derived from the name. Create its first owner key next.',
      access: operator,
      body: CreateOrg,
      success: 201,
      response: OrgView,
      errors: ['conflict'],
      async handler({ body, now }, tx) {
        const after = viewOrg(await createOrg(tx, ids, now, body));
        return { body: after, changes: [changeOf('org', after.id, { after }, 'org.created')] };
      },
    }),
    read({
      id: 'orgs.list',
      path: '/v1/admin/orgs',
      summary: 'List organizations',
      access: operator,
      query: OrgFilters,
      response: page(OrgView),
      handler: ({ query }) => viewPage(listOrgs(db, query), viewOrg),
    }),
    read({
      id: 'orgs.read',
      path: '/v1/admin/orgs/{org_id}',
      summary: 'Get an organization as an operator',
      access: operator,
      response: OrgView,
      handler: async ({ params }) => viewOrg(await requireOrg(params.org_id)),
    }),
    write({
      id: 'orgs.change',
      method: 'PATCH',
      path: '/v1/admin/orgs/{org_id}',
      summary: 'Update an organization as an operator',
      access: operator,
      body: PatchOrg,
      response: OrgView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        return outcome(await patchOrg(tx, params.org_id, now, body), 'org.updated');
      },
    }),
    write({
      id: 'orgs.suspend',
      method: 'POST',
      path: '/v1/admin/orgs/{org_id}/suspend',
      summary: 'Suspend an organization',
      description: 'Its keys return 403 `org_suspended` from then on.',
      access: operator,
      body: SuspendOrg,
      bodyOptional: true,
      response: OrgView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        return outcome(await suspendOrg(tx, params.org_id, now, body.reason), 'org.suspended');
      },
    }),
    write({
      id: 'orgs.reinstate',
      method: 'POST',
      path: '/v1/admin/orgs/{org_id}/reinstate',
      summary: 'Reinstate a suspended organization',
      access: operator,
      response: OrgView,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        return outcome(await reinstateOrg(tx, params.org_id, now), 'org.reinstated');
      },
    }),
    read({
      id: 'org.read',
      path: '/v1/orgs/{id}',
      summary: "Get the caller's organization",
      access: reader,
      response: OrgView,
      handler: async ({ params }) => viewOrg(await requireOrg(params.id)),
    }),
    write({
      id: 'org.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}',
      summary: "Update the caller's organization",
      access: owner,
      body: PatchOwnOrg,
      response: OrgView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        return outcome(await patchOrg(tx, params.id, now, body), 'org.updated');
      },
    }),
    read({
      id: 'org.ip_allow_list.read',
      path: '/v1/orgs/{id}/ip-allow-list',
      summary: 'Get the IP allow-list',
      access: reader,
      response: IpAllowListView,
      handler: async ({ params }) => ({ cidrs: [...(await requireOrg(params.id)).ip_allow_list] }),
    }),
    write({
      id: 'org.ip_allow_list.put',
      method: 'PUT',
      path: '/v1/orgs/{id}/ip-allow-list',
      summary: 'Replace the IP allow-list',
      description:
        'Requests with a key of the organization from any other address return 403 `ip_not_allowed`. A list ' +
        "without the caller's address returns `conflict` unless `force` is set.",
      access: owner,
      body: PutIpAllowList,
      bodyLimitBytes: bodyLimits.lists,
      response: IpAllowListView,
      errors: ['conflict'],
      async handler({ params, body, now, address }, tx) {
        const request = {
          orgId: params.id,
          cidrs: body.cidrs,
          force: body.force === true,
          callerAddress: address,
        };
        const { before, after } = await putAllowList(tx, now, request);
        return { body: { cidrs: [...after.ip_allow_list] }, changes: [allowListChange(before, after)] };
      },
    }),
    write({
      id: 'orgs.ip_allow_list.clear',
      method: 'DELETE',
      path: '/v1/admin/orgs/{org_id}/ip-allow-list',
      summary: 'Clear the IP allow-list of an organization as an operator',
      description:
        'For an organization that has locked itself out. Afterwards requests from any address are allowed.',
      access: operator,
      async handler({ params, now }, tx) {
        const { before, after } = await clearAllowList(tx, now, params.org_id);
        return { body: {}, changes: [allowListChange(before, after)] };
      },
    }),
  ];
}

function outcome({ before, after }: OrgChange, event: EventType) {
  const views = { before: viewOrg(before), after: viewOrg(after) };
  return { body: views.after, changes: [changeOf('org', after.id, views, event)] };
}

function allowListChange(before: OrgRow, after: OrgRow): Change {
  const views = { before: { cidrs: before.ip_allow_list }, after: { cidrs: after.ip_allow_list } };
  return changeOf('ip_allow_list', after.id, views, 'org.ip_allow_list_updated');
}
