/** Access control: roles, scopes, and the checks of a credential in the order of the contract. */

import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { Attribution } from '../../../contract/attribution.ts';
import type { HoldMode } from '../../../contract/hold-modes.ts';
import { type KeyScope, type OrgRole, orgRoles, type Role } from '../../../contract/scopes.ts';
import { type AddressList, isListed } from '../message/address.ts';

export type Access =
  | { readonly kind: 'public' }
  /** For platform operators, who need no scope. */
  | { readonly kind: 'operator' }
  /** For platform operators, who need no scope, and for admins of the org in the path, who need this scope. */
  | { readonly kind: 'operator_or_admin'; readonly scope: KeyScope }
  | {
      readonly kind: 'org';
      readonly scope: KeyScope;
      readonly role: OrgRole;
      /** An additional scope that is required if a query parameter has a certain value. */
      readonly queryScope?: { readonly parameter: string; readonly value: string; readonly scope: KeyScope };
    };

/** The credential of a token or session. `checkCredentialActive` decides for each request whether it may be used. */
export interface Credential {
  /** Id of the key, or of the member who is signed in. */
  readonly keyId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<string>;
  readonly notBefore: Date | null;
  readonly expiresAt: Date | null;
  /** A flag instead of a time, so that a revocation takes effect in all processes even if their clocks differ. */
  readonly revoked: boolean;
  /** The end of a rotated key's overlap with its successor. */
  readonly endsAt: Date | null;
  /** The caller's org; null for operators, who belong to no org. */
  readonly org: CredentialOrg | null;
  /** Attribution of the key; undefined if it has none. */
  readonly attribution?: Attribution | undefined;
  /** The `hold` of gateway calls of the key; null: the setting of the org. */
  readonly hold?: HoldMode | null;
  /** The `reserve_for_running` of gateway calls of the key; null: the setting of the org. */
  readonly reserveForRunning?: number | null;
  /** Set for a console session; undefined for a key. */
  readonly session?: CallerSession | undefined;
  /** Set if an operator acts for the org under a support grant. */
  readonly support?: SupportIdentity | undefined;
}

export interface SupportIdentity {
  readonly grantId: string;
  readonly sessionId: string;
  /** Key id of the operator who acts. */
  readonly operatorKeyId: string;
  /** The reason stated in the grant. */
  readonly reason: string;
  readonly scope: readonly string[];
}

export interface CallerSession {
  readonly id: string;
  /** Kind of `keyId`. An operator can be signed in to an org through a console link. */
  readonly actor: 'key' | 'operator' | 'member';
  /** Display name of the key or person. */
  readonly name: string;
}

export interface CredentialOrg {
  readonly id: string;
  /** Name of the org, shown on every console page. */
  readonly name: string;
  readonly timezone: string;
  readonly suspended: boolean;
  /** Addresses that may call; null if every address may. */
  readonly allowList: AddressList | null;
  /** Null while residency is off, or if the org has no home region. */
  readonly residency: CredentialResidency | null;
}

export interface CredentialResidency {
  readonly homeRegion: string;
  /** In another region, requests are forwarded home (`forward`) or rejected (`strict`). */
  readonly mode: 'forward' | 'strict';
  /** True if this process runs in the home region. */
  readonly isHere: boolean;
}

/** Returns the residency of an org. `region` is the region of this process; undefined while residency is off. */
export function residencyIn(
  region: string | undefined,
  homeRegion: string | null,
  mode: CredentialResidency['mode'],
): CredentialResidency | null {
  return region === undefined || homeRegion === null
    ? null
    : { homeRegion, mode, isHere: homeRegion === region };
}

/** The request must be forwarded to the org's home region. If that is not possible, it is rejected with this error. */
export class WrongRegion extends ApiError {
  readonly homeRegion: string;

  constructor(homeRegion: string) {
    const { code, status, details } = apiError('residency_violation');
    super(
      code,
      status,
      `The home region of the organization is ${homeRegion}. Send the request there.`,
      details,
    );
    this.homeRegion = homeRegion;
  }
}

/** The tenant of operator actions outside any org. */
export const platformTenant = 'platform';

export interface Caller {
  readonly keyId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<string>;
  /** The caller's org; `platform` for an operator. */
  readonly tenantId: string;
  readonly attribution?: Attribution | undefined;
  readonly hold?: HoldMode | null | undefined;
  readonly reserveForRunning?: number | null | undefined;
  readonly session?: CallerSession | undefined;
  readonly support?: SupportIdentity | undefined;
}

export function outranks(role: Role, other: Role): boolean {
  const rank = (r: Role) => (r === 'operator' ? orgRoles.length : orgRoles.indexOf(r));
  return rank(role) > rank(other);
}

/** Throws unless this is the org's home region. For requests that cannot be forwarded. */
export function checkResidency(org: CredentialOrg | null): void {
  if (org?.residency?.isHere === false) {
    throw residencyViolation(org.residency);
  }
}

function residencyViolation({ homeRegion }: CredentialResidency): ApiError {
  return apiError(
    'residency_violation',
    `The home region of the organization is ${homeRegion}. Requests in other regions are rejected.`,
  );
}

/**
 * Throws if the request must not be served in this region. The home region of a strict org also rejects requests that another
 * region forwarded.
 */
function checkRegion(residency: CredentialResidency | null, arrivedElsewhere: boolean): void {
  if (residency?.mode === 'forward' && !residency.isHere) {
    throw new WrongRegion(residency.homeRegion);
  }
  if (residency?.mode === 'strict' && (!residency.isHere || arrivedElsewhere)) {
    throw residencyViolation(residency);
  }
}

type OrgAccess = Extract<Access, { kind: 'org' }>;

export interface AccessRequest {
  readonly credential: Credential;
  readonly access: Exclude<Access, { kind: 'public' }>;
  readonly method: string;
  readonly queryString?: string | undefined;
  /** The org in the path, if the path names one. */
  readonly pathOrgId: string | undefined;
  readonly address: string;
  readonly now: Date;
  /** True if another region forwarded the request. */
  readonly arrivedElsewhere?: boolean | undefined;
}

/** Returns the required scopes. The query is parsed leniently, because it is not validated yet; a malformed one is rejected later. */
function scopesNeeded({ queryString = '' }: AccessRequest, { scope, queryScope }: OrgAccess): KeyScope[] {
  const needsQueryScope =
    queryScope !== undefined &&
    new URLSearchParams(queryString).getAll(queryScope.parameter).includes(queryScope.value);
  return needsQueryScope ? [scope, queryScope.scope] : [scope];
}

/** Throws unless the grant of the support session permits the request. A grant never permits more than an admin of the org may do. */
function checkSupport({ scope }: SupportIdentity, request: AccessRequest): void {
  const { access, method } = request;
  const deny = (reason: string) =>
    apiErrorWithDetails('support_scope_denied', { reason, scope: [...scope], method });
  if (access.kind !== 'org') {
    throw deny('operator_only');
  }
  if (!scopesNeeded(request, access).every((needed) => scope.includes(needed))) {
    throw deny('scope_not_granted');
  }
  if (access.role === 'owner') {
    throw deny('owner_only');
  }
}

function checkScope({ scopes }: Pick<Credential, 'scopes'>, scope: KeyScope): void {
  if (!scopes.has(scope)) {
    throw apiErrorWithDetails('missing_scope', { required: scope });
  }
}

function checkRole({ role }: Pick<Credential, 'role'>, required: OrgRole): void {
  if (outranks(required, role)) {
    throw requiresRole(required);
  }
}

function requiresRole(role: OrgRole): ApiError {
  return apiError('forbidden', `Requires the role ${role}.`);
}

function operatorsOnly(): ApiError {
  return apiError('forbidden', 'Only platform operators may do this.');
}

/**
 * Throws unless the caller may also call another route of the same org. For requests that do the work of several routes. An
 * operator can create any key of the org, and so may call all routes.
 */
export function checkMayCall(
  caller: Pick<Caller, 'role' | 'scopes'>,
  { access }: { readonly access: Access },
): void {
  if (access.kind === 'public' || caller.role === 'operator') {
    return;
  }
  if (access.kind === 'operator') {
    throw operatorsOnly();
  }
  checkScope(caller, access.scope);
  checkRole(caller, access.kind === 'org' ? access.role : 'admin');
}

/** Throws unless the credential can be used now and from this address. */
export function checkCredentialActive(credential: Credential, address: string, now: Date): void {
  const { org } = credential;
  if (credential.revoked || (credential.endsAt !== null && credential.endsAt <= now)) {
    throw apiError('gone', 'The key was revoked.');
  }
  if (credential.notBefore !== null && now < credential.notBefore) {
    throw apiError('key_expired', 'The key is not valid yet.');
  }
  if (credential.expiresAt !== null && credential.expiresAt <= now) {
    throw apiError('key_expired', 'The key has expired.');
  }
  if (org?.allowList != null && !isListed(org.allowList, address)) {
    throw apiError('ip_not_allowed');
  }
  if (org?.suspended === true) {
    throw apiError('org_suspended');
  }
}

/** Runs the access checks in the order of the contract. Throws the error of the first check that fails. */
export function admitCaller(request: AccessRequest): Caller {
  const { credential, access, pathOrgId, address, now, arrivedElsewhere = false } = request;
  checkCredentialActive(credential, address, now);
  const { org } = credential;
  if (access.kind === 'org') {
    if (pathOrgId !== undefined && pathOrgId !== org?.id) {
      throw apiError('not_found');
    }
    checkRegion(org?.residency ?? null, arrivedElsewhere);
    if (credential.support !== undefined) {
      checkSupport(credential.support, request);
    }
    for (const required of scopesNeeded(request, access)) {
      checkScope(credential, required);
    }
    if (credential.role === 'operator') {
      throw requiresRole(access.role);
    }
    checkRole(credential, access.role);
  } else if (credential.role !== 'operator') {
    // Hides which orgs exist: any org except the caller's own fails like one that does not exist.
    if (access.kind === 'operator_or_admin' && pathOrgId !== org?.id) {
      throw operatorsOnly();
    }
    // Requests under /v1/admin are not forwarded to another region.
    checkResidency(org);
    if (credential.support !== undefined) {
      checkSupport(credential.support, request);
    }
    if (access.kind === 'operator') {
      throw operatorsOnly();
    }
    checkScope(credential, access.scope);
    checkRole(credential, 'admin');
  }
  return {
    keyId: credential.keyId,
    role: credential.role,
    scopes: credential.scopes,
    tenantId: org?.id ?? platformTenant,
    attribution: credential.attribution,
    hold: credential.hold,
    reserveForRunning: credential.reserveForRunning,
    session: credential.session,
    support: credential.support,
  };
}
