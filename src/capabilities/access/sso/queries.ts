import type { OrgRole } from '../../../contract/scopes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { SsoKind } from './schema.ts';

export interface ConnectionRow {
  readonly org_id: string;
  readonly kind: SsoKind;
  /** The OIDC issuer, or the entity id of the SAML identity provider. */
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

const columns = `org_id, kind, issuer, client_id, client_secret, scope, idp_sso_url, idp_certificate, groups_attribute, role_mapping, default_role, allowed_email_domains, just_in_time, required, created_at, updated_at`;

export async function findConnection(db: Queryable, orgId: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(`SELECT ${columns} FROM sso_connections WHERE org_id = $1`, [
    orgId,
  ]);
  return row;
}

export async function requiresSso(db: Queryable, orgId: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 AS one FROM sso_connections WHERE org_id = $1 AND required', [orgId]);
  return rows.length > 0;
}

export async function putConnection(tx: Queryable, row: ConnectionRow): Promise<void> {
  await tx.query(
    `INSERT INTO sso_connections (${columns})
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
     ON CONFLICT (org_id) DO UPDATE SET
       kind = excluded.kind, issuer = excluded.issuer, client_id = excluded.client_id,
       client_secret = excluded.client_secret, scope = excluded.scope, idp_sso_url = excluded.idp_sso_url,
       idp_certificate = excluded.idp_certificate, groups_attribute = excluded.groups_attribute,
       role_mapping = excluded.role_mapping, default_role = excluded.default_role,
       allowed_email_domains = excluded.allowed_email_domains, just_in_time = excluded.just_in_time,
       required = excluded.required, updated_at = excluded.updated_at`,
    [
      row.org_id,
      row.kind,
      row.issuer,
      row.client_id,
      row.client_secret,
      row.scope,
      row.idp_sso_url,
      row.idp_certificate,
      row.groups_attribute,
      JSON.stringify(row.role_mapping),
      row.default_role,
      row.allowed_email_domains,
      row.just_in_time,
      row.required,
      row.created_at,
      row.updated_at,
    ],
  );
}

export async function deleteConnection(tx: Queryable, orgId: string): Promise<void> {
  await tx.query('DELETE FROM sso_connections WHERE org_id = $1', [orgId]);
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

export async function insertAttempt(db: Queryable, row: AttemptRow): Promise<void> {
  await db.query(
    `INSERT INTO sso_attempts (digest, org_id, kind, issuer, sealed, browser_digest, return_to, member_id, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      row.digest,
      row.org_id,
      row.kind,
      row.issuer,
      row.sealed,
      row.browser_digest,
      row.return_to,
      row.member_id,
      row.expires_at,
    ],
  );
}

/**
 * Deletes and returns the attempt. Only the caller that deletes the row may continue, so each attempt can be used once
 * across all processes.
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

/** Deletes the sign-ins of a member that wait for their last step. */
export async function deleteTickets(tx: Queryable, orgId: string, memberId: string): Promise<void> {
  await tx.query('DELETE FROM sso_attempts WHERE org_id = $1 AND member_id = $2', [orgId, memberId]);
}

/** Records that the assertion was used; returns false if it was used before. */
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

/**
 * Deletes up to `limit` expired attempts and up to `limit` expired assertions; returns the larger of the two numbers.
 */
export async function deleteOver(db: Queryable, now: Date, limit: number): Promise<number> {
  const attempts = await db.query(
    `DELETE FROM sso_attempts WHERE digest IN (SELECT digest FROM sso_attempts WHERE expires_at <= $1 LIMIT $2)
     RETURNING 1 AS one`,
    [now, limit],
  );
  const assertions = await db.query(
    `DELETE FROM saml_assertions WHERE (org_id, digest) IN (
       SELECT org_id, digest FROM saml_assertions WHERE expires_at <= $1 LIMIT $2
     ) RETURNING 1 AS one`,
    [now, limit],
  );
  return Math.max(attempts.length, assertions.length);
}
