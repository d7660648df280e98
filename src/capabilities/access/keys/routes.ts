import type { Static } from 'typebox';
import { found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { checkMayGrant } from '../../../platform/http/routes/granting.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { lockOrg } from '../orgs/index.ts';
import { newAttribution } from './attribution.ts';
import { type Minting, mintKey, patchKey, revokeKey, rotateKey, viewKey } from './keys.ts';
import { minted, patched, revoked, rotated } from './outcomes.ts';
import { findKey, listKeys } from './queries.ts';
import { KeyFilters, KeyView, MintedKey, MintKey, MintOperatorKey, PatchKey, RotateKey } from './schema.ts';

export interface KeyDependencies extends Minting {
  readonly db: Database;
}

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'keys:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'keys:write', role: 'admin' } as const;

export function keyRoutes(deps: KeyDependencies): Route[] {
  return [...orgKeyRoutes(deps), ...operatorKeyRoutes(deps)];
}

function orgKeyRoutes({ db, ...minting }: KeyDependencies): Route[] {
  return [
    write({
      id: 'orgs.keys.mint',
      method: 'POST',
      path: '/v1/admin/orgs/{org_id}/keys',
      summary: 'Create a key in an organization as an operator',
      description: 'Use this for the first owner key of an organization.',
      access: operator,
      body: MintKey,
      success: 201,
      response: MintedKey,
      async handler({ params, body, caller, now }, tx) {
        found(await lockOrg(tx, params.org_id));
        const key = { orgId: params.org_id, ...orgDraft(caller, body) };
        return minted(await mintKey(tx, minting, now, key), now);
      },
    }),
    write({
      id: 'keys.mint',
      method: 'POST',
      path: '/v1/orgs/{id}/keys',
      summary: 'Create a key',
      description:
        'The role and scopes must not exceed those of the calling key. Values that are locked for the calling key are passed ' +
        'on to the new key, locked; other values are `forbidden`.',
      access: admin,
      body: MintKey,
      success: 201,
      response: MintedKey,
      async handler({ params, body, caller, now }, tx) {
        checkMayGrant(caller, body.role, body.scopes);
        const key = { orgId: params.id, ...orgDraft(caller, body) };
        return minted(await mintKey(tx, minting, now, key), now);
      },
    }),
    read({
      id: 'keys.list',
      path: '/v1/orgs/{id}/keys',
      summary: 'List keys',
      access: reader,
      query: KeyFilters,
      response: page(KeyView),
      handler: ({ params, query, now }) => keyPage(db, params.id, query, now),
    }),
    read({
      id: 'keys.read',
      path: '/v1/orgs/{id}/keys/{key_id}',
      summary: 'Get a key',
      access: reader,
      response: KeyView,
      handler: ({ params, now }) => keyView(db, params.id, params.key_id, now),
    }),
    write({
      id: 'keys.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/keys/{key_id}',
      summary: 'Change the name or the attribution of a key',
      description:
        'Applies to the next request with the key. `attribution` and `attribution_locked` are replaced as a whole; role and ' +
        'scopes cannot be changed. A key with locked values can only change keys that have the same values, locked.',
      access: admin,
      body: PatchKey,
      response: KeyView,
      unversionedFields: ['status', 'last_used_at'],
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const request = { orgId: params.id, keyId: params.key_id, patch: body };
        return patched(await patchKey(tx, now, caller, request), now);
      },
    }),
    write({
      id: 'keys.revoke',
      method: 'DELETE',
      path: '/v1/orgs/{id}/keys/{key_id}',
      summary: 'Revoke a key',
      description: 'Requests with the key return 410 `gone` from then on. Revoking it again has no effect.',
      access: admin,
      async handler({ params, caller, now }, tx) {
        return revoked(await revokeKey(tx, now, caller, { orgId: params.id, keyId: params.key_id }), now);
      },
    }),
    write({
      id: 'keys.rotate',
      method: 'POST',
      path: '/v1/orgs/{id}/keys/{key_id}/rotate',
      summary: 'Rotate a key',
      description:
        'Returns a new key with the same role, scopes and attribution, which must not exceed those of the caller. The old key ' +
        'ends after `overlap_seconds`.',
      access: admin,
      body: RotateKey,
      bodyOptional: true,
      response: MintedKey,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const request = { orgId: params.id, keyId: params.key_id, request: body };
        return rotated(await rotateKey(tx, minting, now, caller, request), now);
      },
    }),
  ];
}

function operatorKeyRoutes({ db, ...minting }: KeyDependencies): Route[] {
  return [
    write({
      id: 'operator_keys.mint',
      method: 'POST',
      path: '/v1/admin/keys',
      summary: 'Create an operator key',
      access: operator,
      body: MintOperatorKey,
      success: 201,
      response: MintedKey,
      async handler({ body, caller, now }, tx) {
        const operatorDraft = {
          ...draft(body),
          orgId: null,
          role: 'operator',
          scopes: [],
          createdBy: caller.keyId,
        } as const;
        return minted(await mintKey(tx, minting, now, operatorDraft), now);
      },
    }),
    read({
      id: 'operator_keys.list',
      path: '/v1/admin/keys',
      summary: 'List operator keys',
      access: operator,
      query: KeyFilters,
      response: page(KeyView),
      handler: ({ query, now }) => keyPage(db, null, query, now),
    }),
    read({
      id: 'operator_keys.read',
      path: '/v1/admin/keys/{key_id}',
      summary: 'Get an operator key',
      access: operator,
      response: KeyView,
      handler: ({ params, now }) => keyView(db, null, params.key_id, now),
    }),
    write({
      id: 'operator_keys.revoke',
      method: 'DELETE',
      path: '/v1/admin/keys/{key_id}',
      summary: 'Revoke an operator key',
      access: operator,
      async handler({ params, caller, now }, tx) {
        return revoked(await revokeKey(tx, now, caller, { orgId: null, keyId: params.key_id }), now);
      },
    }),
    write({
      id: 'operator_keys.rotate',
      method: 'POST',
      path: '/v1/admin/keys/{key_id}/rotate',
      summary: 'Rotate an operator key',
      access: operator,
      body: RotateKey,
      bodyOptional: true,
      response: MintedKey,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const request = { orgId: null, keyId: params.key_id, request: body };
        return rotated(await rotateKey(tx, minting, now, caller, request), now);
      },
    }),
  ];
}

async function keyPage(db: Database, orgId: string | null, query: KeyFilters, now: Date) {
  return viewPage(listKeys(db, orgId, query, now), (key) => viewKey(key, now));
}

async function keyView(db: Database, orgId: string | null, keyId: string, now: Date): Promise<KeyView> {
  return viewKey(found(await findKey(db, orgId, keyId)), now);
}

interface Validity {
  readonly not_before?: string;
  readonly expires_at?: string;
}

function orgDraft(caller: Caller, { attribution, attribution_locked, ...rest }: Static<typeof MintKey>) {
  const stated = {
    ...(attribution && { attribution }),
    ...(attribution_locked && { attribution_locked }),
  };
  return { ...draft(rest), attribution: newAttribution(caller, stated), createdBy: caller.keyId };
}

/** Converts the fields of a request to those of a draft. */
function draft<Rest extends object>({ not_before, expires_at, ...rest }: Rest & Validity) {
  return {
    ...rest,
    notBefore: not_before === undefined ? undefined : new Date(not_before),
    expiresAt: expires_at === undefined ? undefined : new Date(expires_at),
  };
}
