/** Access control: roles, scopes, and the checks of a credential in the order of the contract. */

import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { Attribution } from '../../../contract/attribution.ts';
import { type KeyScope, type OrgRole, orgRoles, type Role } from '../../../contract/scopes.ts';
import { type AddressList, isListed } from '../message/address.ts';

export type Access =
  | { readonly kind: 'public' }
  /** Platform operators; no scope is needed. */
  | { readonly kind: 'operator' }
  /** Platform operators, who need no scope, and admins of the org in the path, who need this scope. */
  | { readonly kind: 'operator_or_admin'; readonly scope: KeyScope }
  | {
      readonly kind: 'org';
      readonly scope: KeyScope;
      readonly role: OrgRole;
      /** An additional scope that a value of a query parameter requires. */
      readonly queryScope?: { readonly parameter: string; readonly value: string; readonly scope: KeyScope };
    };

/** The credential of a token or session. `checkCredentialActive` decides for each request if it may be used. */
export interface Credential {
  /** The id of the key, or of the member who is signed in. */
  readonly keyId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<string>;
  readonly notBefore: Date | null;
  readonly expiresAt: Date | null;
  /** A flag and not a time: a revocation takes effect in all processes, even if their clocks differ. */
  readonly revoked: boolean;
  /** The end of a rotated key's overlap with its successor. */
  readonly endsAt: Date | null;
  /** Null for operators, who belong to no org. */
  readonly org: CredentialOrg | null;
  /** Undefined if the key has none, as most keys. */
  readonly attribution?: Attribution | undefined;
  /** Set for a console session; undefined for a key. */
  readonly session?: CallerSession | undefined;
  /** Set if an operator acts for the org under a support grant. */
  readonly support?: SupportIdentity | undefined;
}

export interface SupportIdentity {
  readonly grantId: string;
  readonly sessionId: string;
  /** The operator who acts. */
  readonly operatorKeyId: string;
  /** The reason in the grant. */
  readonly reason: string;
  readonly scope: readonly string[];
}

export interface CallerSession {
  readonly id: string;
  /** Kind of `keyId`. An operator may be signed in to an org, through a console link. */
  readonly actor: 'key' | 'operator' | 'member';
  /** Display name of the key or the person. */
  readonly name: string;
}

export interface CredentialOrg {
  readonly id: string;
  /** Shown on every page of the console. */
  readonly name: string;
  readonly timezone: string;
  readonly suspended: boolean;
  /** Null if every address is allowed. */
  readonly allowList: AddressList | null;
  /** Null while residency is off, and for an org without a home region. */
  readonly residency: CredentialResidency | null;
}

export interface CredentialResidency {
  readonly homeRegion: string;
  /** A request that arrives in another region is forwarded home, or rejected (`strict`). */
  readonly mode: 'forward' | 'strict';
  /** True if this process runs in the home region. */
  readonly isHere: boolean;
}

/** `region` is the region of this process; undefined while residency is off. */
export function residencyIn(
  region: string | undefined,
  homeRegion: string | null,
  mode: CredentialResidency['mode'],
): CredentialResidency | null {
  return region === undefined || homeRegion === null
    ? null
    : { homeRegion, mode, isHere: homeRegion === region };
}

/** The request must be forwarded to the org's home region, or rejected with this error. */
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
  /** The caller's org, or `platform` for an operator. */
  readonly tenantId: string;
  readonly attribution?: Attribution | undefined;
  readonly session?: CallerSession | undefined;
  readonly support?: SupportIdentity | undefined;
}

export function outranks(role: Role, other: Role): boolean {
  const rank = (r: Role) => (r === 'operator' ? orgRoles.length : orgRoles.indexOf(r));
  return rank(role) > rank(other);
}

/** For requests that cannot be forwarded: throws unless this is the org's home region. */
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

/** A request of a strict org that another region forwarded is rejected in the home region too. */
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
  /** The org named in the path, if the path names one. */
  readonly pathOrgId: string | undefined;
  readonly address: string;
  readonly now: Date;
  /** True if another region forwarded the request. */
  readonly arrivedElsewhere?: boolean | undefined;
}

/** Parses the query leniently: it is not validated yet, and a malformed query is rejected later. */
function scopesNeeded({ queryString = '' }: AccessRequest, { scope, queryScope }: OrgAccess): KeyScope[] {
  const needsQueryScope =
    queryScope !== undefined &&
    new URLSearchParams(queryString).getAll(queryScope.parameter).includes(queryScope.value);
  return needsQueryScope ? [scope, queryScope.scope] : [scope];
}

/** A support session may do what its grant permits, and never more than an admin of the org. */
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
 * Throws unless the caller of one route may also call another one of the same org, for requests that do the work of several
 * routes. An operator, who can create any key of the org, may call all of them.
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

/** Throws unless the credential may be used now and from this address. */
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
    // Does not reveal which orgs exist: the caller's own org is allowed, any other fails like one that does not exist.
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
    session: credential.session,
    support: credential.support,
  };
}
