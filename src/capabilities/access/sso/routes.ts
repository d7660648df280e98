import { found } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { checkMayGrantMembership } from '../../../platform/http/routes/granting.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Change, type Route, read, write } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { findOrg, lockOrg, type OrgRow } from '../orgs/index.ts';
import { endFederated, endUnfederated, type SessionMethod } from '../sessions/index.ts';
import { endSignIns } from '../tool-sign-ins/index.ts';
import { connectionFrom, isSameProvider, serviceUrls, viewConnection } from './connection.ts';
import { deleteConnection, findConnection, putConnection, type SsoConnectionRow } from './queries.ts';
import { PutSso, SsoView } from './schema.ts';

export interface SsoRouteDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly secrets: Secrets;
  readonly allowPrivateNetworks: boolean;
  baseUrl(): string;
}

const reader = { kind: 'org', scope: 'org:read', role: 'owner' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;
const path = '/v1/orgs/{id}/sso';
const needsEveryScope =
  'The caller must have every scope (otherwise `forbidden`), because the identity provider decides who signs ' +
  'in as an owner.';

export function ssoRoutes({
  db,
  secrets,
  allowPrivateNetworks,
  baseUrl,
}: Omit<SsoRouteDependencies, 'ids'>): Route[] {
  const view = (row: SsoConnectionRow, { slug }: OrgRow) =>
    viewConnection(row, serviceUrls(baseUrl(), slug, row.kind));

  return [
    write({
      id: 'sso.put',
      method: 'PUT',
      path,
      summary: 'Set up single sign-on',
      description:
        'OIDC (`issuer`, `client_id`, `client_secret`) or SAML 2.0 (`idp_entity_id`, `idp_sso_url`, ' +
        '`idp_certificate`). Enabling `required` ends sessions that were opened with a key or an invitation; ' +
        "replacing the identity provider ends those that were opened through the old one. The caller's own session " +
        'stays. ' +
        needsEveryScope,
      access: owner,
      body: PutSso,
      bodyLimitBytes: bodyLimits.lists,
      response: SsoView,
      async handler({ params, body, caller, now }, tx) {
        checkMaySetSignIn(caller);
        const org = found(await lockOrg(tx, params.id));
        const before = await findConnection(tx, params.id);
        const after = connectionFrom(secrets, { orgId: params.id, now, body, before, allowPrivateNetworks });
        await putConnection(tx, after);
        const bulk = { orgId: params.id, exceptId: caller.session?.id, now };
        const ended =
          (await endFederated(tx, bulk, after)) + (after.required ? await endUnfederated(tx, bulk) : 0);
        const methods = [
          ...(before !== undefined && !isSameProvider(before, after) ? federatedMethods : []),
          ...(after.required ? otherMethods : []),
        ];
        const toolsEnded = await endTools(tx, bulk, methods);
        const views = { before: before && view(before, org), after: view(after, org) };
        const change = changeOf('sso', params.id, views, 'sso.updated');
        return { body: views.after, changes: [change, ...sessionsEnded(params.id, ended), ...toolsEnded] };
      },
    }),
    read({
      id: 'sso.read',
      path,
      summary: 'Get the single sign-on settings',
      access: reader,
      response: SsoView,
      async handler({ params }) {
        const org = found(await findOrg(db, params.id));
        return view(found(await findConnection(db, params.id)), org);
      },
    }),
    write({
      id: 'sso.remove',
      method: 'DELETE',
      path,
      summary: 'Remove single sign-on',
      description:
        'Members stay, and sign in by links until there is another identity provider. Sessions that were opened ' +
        `through this one end, except the caller's. ${needsEveryScope}`,
      access: owner,
      async handler({ params, caller, now }, tx) {
        checkMaySetSignIn(caller);
        const org = found(await lockOrg(tx, params.id));
        const before = found(await findConnection(tx, params.id));
        await deleteConnection(tx, params.id);
        const after = { kind: null, required: false, updated_at: null };
        const change = changeOf('sso', params.id, { before: view(before, org), after }, 'sso.updated');
        const bulk = { orgId: params.id, exceptId: caller.session?.id, now };
        const ended = await endFederated(tx, bulk, undefined);
        const toolsEnded = await endTools(tx, bulk, federatedMethods);
        return { body: {}, changes: [change, ...sessionsEnded(params.id, ended), ...toolsEnded] };
      },
    }),
  ];
}

/**
 * Throws unless the caller may set the identity provider. It vouches for e-mail addresses and groups, so it can sign in anyone as
 * any member, including an owner.
 */
export function checkMaySetSignIn(caller: Caller): void {
  checkMayGrantMembership(caller, 'owner');
}

/** How sessions are opened with the identity provider, and otherwise. */
const federatedMethods: readonly SessionMethod[] = ['oidc', 'saml'];
const otherMethods: readonly SessionMethod[] = ['key', 'link', 'invitation'];

/** Ends the tool sign-ins that were approved in sessions of these methods, except in the caller's own. */
function endTools(
  tx: Transaction,
  {
    orgId,
    exceptId,
    now,
  }: { readonly orgId: string; readonly exceptId: string | undefined; readonly now: Date },
  methods: readonly SessionMethod[],
): Promise<Change[]> {
  return endSignIns(tx, orgId, { methods, exceptSessionId: exceptId }, 'sso_changed', now);
}

/** Returns one audit change for any number of ended sessions; none if no session was ended. */
function sessionsEnded(orgId: string, count: number): Change[] {
  return count === 0 ? [] : [changeOf('tenant', orgId, { after: { sessions_ended: count } })];
}
