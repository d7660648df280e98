import type { OrgRole } from '../../../contract/scopes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import type { SsoKind } from './schema.ts';

export interface SsoConnectionRow {
  readonly org_id: string;
  readonly kind: SsoKind;
  /** OIDC issuer, or entity id of the SAML identity provider. */
  readonly issuer: string;
  readonly client_id: string | null;
  readonly client_secret: Uint8Array | null;
  readonly scope: string | null;
  readonly idp_sso_url: string | null;
  readonly idp_certificate: string | null;
  readonly groups_attribute: string;
  readonly role_mapping: readonly { readonly group: string; readonly role: OrgRole }[];
  readonly default_role: OrgRole | null;
  readonly allowed_email_domains: readonly string[];
  readonly just_in_time: boolean;
  readonly required: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
}

export const {
  upsert: putConnection,
  delete: deleteConnection,
  find: findConnection,
} = tableOf<SsoConnectionRow>()('sso_connections', {
  columns: `org_id, kind, issuer, client_id, client_secret, scope, idp_sso_url, idp_certificate, groups_attribute, role_mapping,
    default_role, allowed_email_domains, just_in_time, required, created_at, updated_at`,
  key: ['org_id'],
  json: ['role_mapping'],
});

export async function requiresSso(db: Queryable, orgId: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 AS one FROM sso_connections WHERE org_id = $1 AND required', [orgId]);
  return rows.length > 0;
}

export interface AttemptRow {
  readonly digest: string;
  readonly org_id: string;
  readonly kind: SsoKind | 'ticket';
  readonly issuer: string;
  readonly sealed: Uint8Array | null;
  readonly browser_digest: string;
  readonly return_to: string;
  readonly member_id: string | null;
  readonly expires_at: Date;
}

export const { insert: insertAttempt } = tableOf<AttemptRow>()('sso_attempts', {
  columns: 'digest, org_id, kind, issuer, sealed, browser_digest, return_to, member_id, expires_at',
  key: ['digest'],
});

/**
 * Deletes and returns the attempt. Only the caller that deletes the row may continue, so each attempt can be used once across all
 * processes.
 */
export async function takeAttempt(
  db: Queryable,
  digest: string,
  orgId?: string,
): Promise<AttemptRow | undefined> {
  const [row] = await db.query<AttemptRow>(
    'DELETE FROM sso_attempts WHERE digest = $1 AND org_id = coalesce($2::text, org_id) RETURNING *',
    [digest, orgId ?? null],
  );
  return row;
}

/** Deletes sign-ins of a member that wait for their last step. */
export async function deleteTickets(tx: Queryable, orgId: string, memberId: string): Promise<void> {
  await tx.query('DELETE FROM sso_attempts WHERE org_id = $1 AND member_id = $2', [orgId, memberId]);
}

/** Records the use of an assertion. Returns false if it was used before. */
export async function useAssertion(
  db: Queryable,
  orgId: string,
  digest: string,
  expiresAt: Date,
): Promise<boolean> {
  const inserted = await db.query(
    'INSERT INTO saml_assertions (org_id, digest, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1 AS one',
    [orgId, digest, expiresAt],
  );
  return inserted.length > 0;
}
