/** Identity provider of an org: the accepted settings and their view. */
import { X509Certificate } from 'node:crypto';
import { invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { mayConnect } from '../../../platform/outbound/addresses.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { SsoConnectionRow } from './queries.ts';
import type { PutSso, SsoKind, SsoView } from './schema.ts';

export interface ServiceUrls {
  readonly loginUrl: string;
  /** Redirect URL for issuers that identify themselves in the callback. */
  readonly redirectUrl: string;
  /** Redirect URL for all other issuers. It is specific to the org. */
  readonly orgRedirectUrl: string;
  readonly spEntityId: string;
  readonly acsUrl: string;
}

export function serviceUrls(baseUrl: string, slug: string, kind: SsoKind): ServiceUrls {
  return {
    loginUrl: `${baseUrl}/${kind === 'saml' ? 'saml' : 'sso'}/${slug}/login`,
    redirectUrl: `${baseUrl}/sso/callback`,
    orgRedirectUrl: `${baseUrl}/sso/${slug}/callback`,
    spEntityId: `${baseUrl}/saml/${slug}/metadata`,
    acsUrl: `${baseUrl}/saml/${slug}/acs`,
  };
}

export function viewConnection(row: SsoConnectionRow, urls: ServiceUrls): SsoView {
  const isOidc = row.kind === 'oidc';
  return {
    kind: row.kind,
    issuer: isOidc ? row.issuer : null,
    client_id: row.client_id,
    client_secret_set: row.client_secret !== null,
    scope: row.scope,
    idp_entity_id: isOidc ? null : row.issuer,
    idp_sso_url: row.idp_sso_url,
    idp_certificate: row.idp_certificate,
    groups_attribute: row.groups_attribute,
    role_mapping: [...row.role_mapping],
    default_role: row.default_role,
    allowed_email_domains: [...row.allowed_email_domains],
    just_in_time: row.just_in_time,
    required: row.required,
    login_url: urls.loginUrl,
    redirect_url: isOidc ? urls.redirectUrl : null,
    org_redirect_url: isOidc ? urls.orgRedirectUrl : null,
    sp_entity_id: isOidc ? null : urls.spEntityId,
    acs_url: isOidc ? null : urls.acsUrl,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Returns true if responses of one provider may be accepted for the other. */
export function isSameProvider(one: SsoConnectionRow, other: SsoConnectionRow): boolean {
  return (['kind', 'issuer', 'client_id', 'idp_certificate'] as const).every(
    (field) => one[field] === other[field],
  );
}

export function secretContext(orgId: string): string {
  return `sso ${orgId}`;
}

/** Returns true if this is the client secret in use. */
export function isStoredSecret(
  secrets: Secrets,
  { org_id, client_secret }: Pick<SsoConnectionRow, 'org_id' | 'client_secret'>,
  given: string,
): boolean {
  return client_secret !== null && secrets.decrypt(client_secret, secretContext(org_id)) === given;
}

const fieldsOf = {
  oidc: ['issuer', 'client_id', 'client_secret', 'scope'],
  saml: ['idp_entity_id', 'idp_sso_url', 'idp_certificate'],
} as const;

export interface PutConnection {
  readonly orgId: string;
  readonly now: Date;
  readonly body: PutSso;
  readonly before: SsoConnectionRow | undefined;
  readonly allowPrivateNetworks: boolean;
}

/** Returns the new connection. Throws the errors of all invalid fields. */
export function connectionFrom(secrets: Secrets, put: PutConnection): SsoConnectionRow {
  const { orgId, now, body, before, allowPrivateNetworks } = put;
  const kind = body.kind ?? (body.idp_entity_id === undefined ? 'oidc' : 'saml');
  const fieldErrors = fieldFaults(kind, body, allowPrivateNetworks);
  const certificate = kind === 'saml' ? pemOf(body.idp_certificate ?? '') : undefined;
  if (body.idp_certificate !== undefined && kind === 'saml' && certificate === undefined) {
    fieldErrors.push({
      field: 'idp_certificate',
      code: 'invalid_format',
      message: 'Must be an X.509 certificate.',
    });
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
  const isSameClient = before?.issuer === body.issuer && before?.client_id === body.client_id;
  const kept = isSameClient ? (before?.client_secret ?? null) : null;
  const isOidc = kind === 'oidc';
  return {
    org_id: orgId,
    kind,
    issuer: (isOidc ? body.issuer : body.idp_entity_id) ?? '',
    client_id: isOidc ? (body.client_id ?? null) : null,
    client_secret:
      !isOidc || body.client_secret === undefined
        ? isOidc
          ? kept
          : null
        : secrets.encrypt(body.client_secret, secretContext(orgId)),
    scope: isOidc ? (body.scope ?? 'openid email profile') : null,
    idp_sso_url: isOidc ? null : (body.idp_sso_url ?? null),
    idp_certificate: certificate ?? null,
    groups_attribute: body.groups_attribute ?? 'groups',
    role_mapping: body.role_mapping ?? [],
    default_role: body.default_role === undefined ? 'viewer' : body.default_role,
    allowed_email_domains: (body.allowed_email_domains ?? []).map((domain) => domain.toLowerCase()),
    just_in_time: body.just_in_time ?? defaultJustInTime(kind, body),
    required: body.required ?? false,
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
}

/**
 * Returns the default of `just_in_time`. Public issuers accept anyone. So either the settings restrict who may join, or joining
 * must be enabled explicitly.
 */
export function defaultJustInTime(
  kind: SsoKind,
  {
    allowed_email_domains,
    role_mapping,
    default_role,
  }: Pick<PutSso, 'allowed_email_domains' | 'role_mapping' | 'default_role'>,
): boolean {
  const hasDomains = (allowed_email_domains ?? []).length > 0;
  return kind === 'saml' || hasDomains || ((role_mapping ?? []).length > 0 && default_role === null);
}

function fieldFaults(kind: SsoKind, body: PutSso, allowPrivateNetworks: boolean): FieldError[] {
  const fieldErrors: FieldError[] = [];
  const other = kind === 'oidc' ? 'saml' : 'oidc';
  for (const field of fieldsOf[kind]) {
    const mayLack = field === 'client_secret' || field === 'scope';
    if (body[field] === undefined && !mayLack) {
      fieldErrors.push({ field, code: 'required', message: `Required for ${kind.toUpperCase()}.` });
    }
  }
  for (const field of fieldsOf[other]) {
    if (body[field] !== undefined) {
      fieldErrors.push({ field, code: 'invalid_value', message: `Not supported for ${kind.toUpperCase()}.` });
    }
  }
  for (const field of ['issuer', 'idp_sso_url'] as const) {
    const text = body[field];
    const wrong = text === undefined ? undefined : urlFault(text, allowPrivateNetworks);
    if (wrong !== undefined && !fieldErrors.some((fieldError) => fieldError.field === field)) {
      fieldErrors.push({ field, ...wrong });
    }
  }
  return fieldErrors;
}

function urlFault(text: string, allowPrivateNetworks: boolean): Omit<FieldError, 'field'> | undefined {
  if (!URL.canParse(text)) {
    return { code: 'invalid_format', message: 'Must be an absolute URL.' };
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
    return { code: 'invalid_value', message: 'Must start with https://.' };
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    return { code: 'invalid_value', message: 'The URL must not contain credentials or a fragment.' };
  }
  return mayConnect(url, { allowPrivateNetworks })
    ? undefined
    : { code: 'invalid_value', message: 'Private and local addresses are not allowed.' };
}

/** Returns a certificate as PEM, from PEM or from the bare base64 in metadata; undefined if the text is neither. */
function pemOf(text: string): string | undefined {
  const body = text.replaceAll(/-----(BEGIN|END) CERTIFICATE-----/g, '').replaceAll(/\s+/g, '');
  try {
    return new X509Certificate(Buffer.from(body, 'base64')).toString();
  } catch {
    return undefined;
  }
}
