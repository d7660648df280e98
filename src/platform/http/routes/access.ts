/** Who may call what: roles, scopes, and the order in which a credential is examined. */

import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { type OrgRole, orgRoles, type Role, type Scope } from '../../../contract/scopes.ts';
import { type AddressList, isListed } from '../message/address.ts';

export type Access =
  | { readonly kind: 'public' }
  /** Platform operators; no scope is needed. */
  | { readonly kind: 'operator' }
  /** Platform operators, who need no scope, and admins of the org that the path names, who need this one. */
  | { readonly kind: 'operator_or_admin'; readonly scope: Scope }
  | {
      readonly kind: 'org';
      readonly scope: Scope;
      readonly role: OrgRole;
      /** The scope that a value of a query parameter needs as well. */
      readonly queryScope?: { readonly parameter: string; readonly value: string; readonly scope: Scope };
    };

/** What is known of a token that was found. Whether it may be used now is decided per request. */
export interface Credential {
  /** The id of the key, or of the member who is signed in. */
  readonly keyId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<string>;
  readonly notBefore: Date | null;
  readonly expiresAt: Date | null;
  /** No clock is asked: what was revoked in one process is gone in all, however their clocks differ. */
  readonly revoked: boolean;
  /** The end of a rotated key's overlap with its successor. */
  readonly endsAt: Date | null;
  /** Null for operators, who belong to no org. */
  readonly org: CredentialOrg | null;
  /** Set where a browser is signed in, rather than a key presented. */
  readonly session?: CallerSession | undefined;
  /** Set where an operator acts for the org, under a grant. */
  readonly support?: SupportIdentity | undefined;
}

export interface SupportIdentity {
  readonly grantId: string;
  readonly sessionId: string;
  /** Who acts. */
  readonly operatorKeyId: string;
  /** As the grant gives it. */
  readonly reason: string;
  readonly scope: readonly string[];
}

export interface CallerSession {
  readonly id: string;
  /** Whom `keyId` names: an operator may be signed in to an org, by a link that was made for that. */
  readonly actor: 'key' | 'operator' | 'member';
  /** What the key or the person is called. */
  readonly name: string;
}

export interface CredentialOrg {
  readonly id: string;
  /** What its people see on every page, and the time zone in which they see it. */
  readonly name: string;
  readonly timezone: string;
  readonly suspended: boolean;
  /** Null when any address may call. */
  readonly allowList: AddressList | null;
  /** Null while residency is off, and for an org that is at home everywhere. */
  readonly residency: CredentialResidency | null;
}

export interface CredentialResidency {
  readonly homeRegion: string;
  /** Whether a request that arrives elsewhere is sent home, or refused. */
  readonly mode: 'forward' | 'strict';
  /** Whether this process runs in the home region. */
  readonly isHere: boolean;
}

/** `region` is the one that this process runs in; undefined: residency is off. */
export function residencyIn(
  region: string | undefined,
  homeRegion: string | null,
  mode: CredentialResidency['mode'],
): CredentialResidency | null {
  return region === undefined || homeRegion === null
    ? null
    : { homeRegion, mode, isHere: homeRegion === region };
}

/** The request belongs into the org's home region. Whoever cannot send it there refuses. */
export class WrongRegion extends ApiError {
  readonly homeRegion: string;

  constructor(homeRegion: string) {
    const { code, status, details } = apiError('residency_violation');
    super(code, status, `The organization is at home in ${homeRegion}; call that region.`, details);
    this.homeRegion = homeRegion;
  }
}

/** The tenant that owns what operators do outside any org. */
export const platformTenant = 'platform';

export interface Caller {
  readonly keyId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<string>;
  /** The caller's org, or `platform` for an operator. */
  readonly tenantId: string;
  readonly session?: CallerSession | undefined;
  readonly support?: SupportIdentity | undefined;
}

export function outranks(role: Role, other: Role): boolean {
  const rank = (r: Role) => (r === 'operator' ? orgRoles.length : orgRoles.indexOf(r));
  return rank(role) > rank(other);
}

/** For what cannot be sent to another region: the org has to be at home here. */
export function checkResidency(org: CredentialOrg | null): void {
  if (org?.residency?.isHere === false) {
    throw refuseHere(org.residency);
  }
}

function refuseHere({ homeRegion }: CredentialResidency): ApiError {
  return apiError(
    'residency_violation',
    `The organization is at home in ${homeRegion}; what arrives elsewhere is refused.`,
  );
}

/** A strict org is refused at home too if its request came by way of another region, which knew no better. */
function checkRegion(residency: CredentialResidency | null, arrivedElsewhere: boolean): void {
  if (residency?.mode === 'forward' && !residency.isHere) {
    throw new WrongRegion(residency.homeRegion);
  }
  if (residency?.mode === 'strict' && (!residency.isHere || arrivedElsewhere)) {
    throw refuseHere(residency);
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
  /** Another region has sent it here. */
  readonly arrivedElsewhere?: boolean | undefined;
}

/** The query is read leniently: it has not been validated yet, and what is not well-formed is refused later. */
function scopesNeeded({ queryString = '' }: AccessRequest, { scope, queryScope }: OrgAccess): Scope[] {
  const isAsked =
    queryScope !== undefined &&
    new URLSearchParams(queryString).getAll(queryScope.parameter).includes(queryScope.value);
  return isAsked ? [scope, queryScope.scope] : [scope];
}

/** What a support session may do is what its grant says, and never more than an admin of the org. */
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

function checkScope({ scopes }: Credential, scope: Scope): void {
  if (!scopes.has(scope)) {
    throw apiErrorWithDetails('missing_scope', { required: scope });
  }
}

/** Whether a credential may be used at all, here and now; the first refusal is thrown. */
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

/** Examines a credential in the order of the contract; the first refusal is thrown. */
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
    if (credential.role === 'operator' || outranks(access.role, credential.role)) {
      throw apiError('forbidden', `This needs the role ${access.role}.`);
    }
  } else if (credential.role !== 'operator') {
    // Nothing under /v1/admin is sent to another region.
    checkResidency(org);
    if (credential.support !== undefined) {
      checkSupport(credential.support, request);
    }
    // Which orgs there are is not told: one's own is let in, any other is refused like one that does not exist.
    if (access.kind === 'operator' || pathOrgId !== org?.id) {
      throw apiError('forbidden', 'This is for platform operators.');
    }
    checkScope(credential, access.scope);
    if (outranks('admin', credential.role)) {
      throw apiError('forbidden', 'This needs the role admin.');
    }
  }
  return {
    keyId: credential.keyId,
    role: credential.role,
    scopes: credential.scopes,
    tenantId: org?.id ?? platformTenant,
    session: credential.session,
    support: credential.support,
  };
}
