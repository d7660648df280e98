import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type Condition, type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type CredentialOrgRow, credentialOrgColumns } from '../keys/index.ts';
import {
  type AccessFilters,
  type AccessKind,
  accessSorts,
  type GrantFilters,
  type GrantStatus,
  grantSorts,
  type SettingsView,
} from './schema.ts';

export interface GrantRow {
  readonly org_id: string;
  readonly id: string;
  readonly scope: readonly string[];
  readonly reason: string;
  readonly created_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly needs_approval: boolean;
  readonly approved: boolean | null;
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly revoked_at: Date | null;
  readonly revoked_by: string | null;
}

const grantColumns = `org_id, id, scope, reason, created_by, created_at, expires_at, needs_approval, approved, decided_at,
  decided_by, revoked_at, revoked_by`;

export const { insert: insertGrant } = tableOf<GrantRow>()('support_grants', {
  columns: grantColumns,
  key: ['org_id', 'id'],
});

/** Finds a grant. `orgId` is null for operators, who find grants of any org by id. */
export async function findGrant(
  db: Queryable,
  orgId: string | null,
  grantId: string,
  lock?: 'lock',
): Promise<GrantRow | undefined> {
  const [row] = await db.query<GrantRow>(
    `SELECT ${grantColumns} FROM support_grants WHERE id = $2 AND ($1::text IS NULL OR org_id = $1)
     ${lock === undefined ? '' : 'FOR UPDATE'}`,
    [orgId, grantId],
  );
  return row;
}

/** Updates the status of a grant; the granted access stays unchanged. */
export async function updateFate(tx: Queryable, grant: GrantRow): Promise<void> {
  await tx.query(
    `UPDATE support_grants SET approved = $3, decided_at = $4, decided_by = $5, revoked_at = $6, revoked_by = $7
      WHERE org_id = $1 AND id = $2`,
    [
      grant.org_id,
      grant.id,
      grant.approved,
      grant.decided_at,
      grant.decided_by,
      grant.revoked_at,
      grant.revoked_by,
    ],
  );
}

/** Locks and returns the grants that can still be approved or used. */
export async function lockOpenGrants(tx: Queryable, orgId: string, now: Date): Promise<GrantRow[]> {
  return tx.query<GrantRow>(
    `SELECT ${grantColumns} FROM support_grants
      WHERE org_id = $1 AND revoked_at IS NULL AND approved IS DISTINCT FROM false AND expires_at > $2
      ORDER BY id FOR UPDATE`,
    [orgId, now],
  );
}

export async function listGrants(db: Queryable, query: GrantFilters, now: Date): Promise<PageOf<GrantRow>> {
  return selectPage<GrantRow>(db, {
    select: `SELECT ${grantColumns} FROM support_grants`,
    where: [['org_id = ?', query.org_id], ...statusConditions(query.status, now)],
    sorts: grantSorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Returns conditions with the same precedence as `grantStatus`. */
function statusConditions(status: GrantStatus | undefined, now: Date): Condition[] {
  const lasting: Condition = [
    'revoked_at IS NULL AND approved IS DISTINCT FROM false AND expires_at > ?',
    now,
  ];
  switch (status) {
    case undefined:
      return [];
    case 'revoked':
      return [['(revoked_at IS NOT NULL) = ?', true]];
    case 'denied':
      return [['(revoked_at IS NULL AND approved = false) = ?', true]];
    case 'expired':
      return [['revoked_at IS NULL AND approved IS DISTINCT FROM false AND expires_at <= ?', now]];
    case 'pending':
      return [lasting, ['(needs_approval AND approved IS NULL) = ?', true]];
    case 'active':
      return [lasting, ['(NOT needs_approval OR approved IS NOT NULL) = ?', true]];
  }
}

export interface SupportSessionRow {
  readonly org_id: string;
  readonly id: string;
  readonly grant_id: string;
  readonly digest: string;
  readonly operator_key_id: string;
  readonly created_at: Date;
}

export const { insert: insertSession } = tableOf<SupportSessionRow>()('support_sessions', {
  columns: 'org_id, id, grant_id, digest, operator_key_id, created_at',
  key: ['org_id', 'id'],
});

export async function countSessions(tx: Queryable, orgId: string, grantId: string): Promise<number> {
  const [row] = await tx.query<{ sessions: bigint }>(
    'SELECT count(*) AS sessions FROM support_sessions WHERE org_id = $1 AND grant_id = $2',
    [orgId, grantId],
  );
  return Number(row?.sessions ?? 0);
}

export interface FoundSupportSession extends CredentialOrgRow {
  readonly id: string;
  readonly org_id: string;
  readonly grant_id: string;
  readonly operator_key_id: string;
  readonly scope: readonly string[];
  readonly reason: string;
  readonly expires_at: Date;
  /** True if the grant was revoked or denied, the key that opened the session has ended, or the org forbids support access. */
  readonly revoked: boolean;
}

/** Searches all tenants, because the digest determines the tenant. */
export async function findSession(
  db: Queryable,
  digest: string,
  now: Date,
): Promise<FoundSupportSession | undefined> {
  const [row] = await db.query<FoundSupportSession>(
    `SELECT s.id, s.org_id, s.grant_id, s.operator_key_id, g.scope, g.reason, g.expires_at,
            g.revoked_at IS NOT NULL OR g.approved IS NOT DISTINCT FROM false OR NOT coalesce(settings.allowed, true)
              OR k.id IS NULL OR k.revoked_at IS NOT NULL OR coalesce(k.ends_at <= $2, false)
              OR coalesce(k.expires_at <= $2, false) AS revoked,
            ${credentialOrgColumns}
       FROM support_sessions s
       JOIN support_grants g ON g.org_id = s.org_id AND g.id = s.grant_id
       JOIN orgs o ON o.id = s.org_id
       LEFT JOIN support_settings settings ON settings.org_id = s.org_id
       LEFT JOIN keys k ON k.id = s.operator_key_id AND k.org_id IS NULL
      WHERE s.digest = $1`,
    [digest, now],
  );
  return row;
}

export interface AccessRow {
  readonly org_id: string;
  readonly id: string;
  readonly at: Date;
  readonly kind: AccessKind;
  readonly grant_id: string;
  readonly session_id: string | null;
  readonly actor_id: string;
  readonly method: string | null;
  readonly path: string | null;
  readonly operation: string | null;
  readonly outcome: 'allowed' | 'denied' | null;
  readonly code: string | null;
  readonly address: string | null;
  readonly trace_id: string | null;
}

const accessColumns = `org_id, id, at, kind, grant_id, session_id, actor_id, method, path, operation, outcome, code, address,
  trace_id`;

export const { insert: insertAccess } = tableOf<AccessRow>()('support_access_log', {
  columns: accessColumns,
  key: ['org_id', 'id'],
});

export async function listAccess(
  db: Queryable,
  orgId: string,
  query: AccessFilters,
): Promise<PageOf<AccessRow>> {
  return selectPage<AccessRow>(db, {
    select: `SELECT ${accessColumns} FROM support_access_log`,
    where: [
      ['org_id = ?', orgId],
      ['kind = ?', query.kind],
      ['grant_id = ?', query.grant_id],
      ['session_id = ?', query.session_id],
      ['actor_id = ?', query.actor_id],
      ['outcome = ?', query.outcome],
    ],
    sorts: accessSorts,
    defaultSort: '-at',
    query,
  });
}

interface Old {
  readonly orgId: string;
  readonly before: Date;
  readonly limit: number;
}

export async function deleteOldAccess(tx: Queryable, { orgId, before, limit }: Old): Promise<number> {
  const gone = await tx.query(
    `DELETE FROM support_access_log WHERE org_id = $1 AND id IN (
       SELECT id FROM support_access_log WHERE org_id = $1 AND at < $2 ORDER BY at, id LIMIT $3)
     RETURNING 1 AS one`,
    [orgId, before, limit],
  );
  return gone.length;
}

/** Deletes old grants and their sessions. A grant that was valid at `before` is kept, because it may have been used later. */
export async function deleteOldGrants(tx: Queryable, { orgId, before, limit }: Old): Promise<number> {
  const old = await tx.query<{ id: string }>(
    `SELECT id FROM support_grants WHERE org_id = $1 AND created_at < $2 AND expires_at < $2
      ORDER BY created_at, id LIMIT $3 FOR UPDATE`,
    [orgId, before, limit],
  );
  const ids = old.map(({ id }) => id);
  await tx.query('DELETE FROM support_sessions WHERE org_id = $1 AND grant_id = ANY($2)', [orgId, ids]);
  await tx.query('DELETE FROM support_grants WHERE org_id = $1 AND id = ANY($2)', [orgId, ids]);
  return ids.length;
}

/** Returns the settings. Callers that decide by them must lock the org first, as updates of the settings do. */
export async function findSettings(db: Queryable, orgId: string): Promise<SettingsView> {
  const [row] = await db.query<SettingsView>(
    'SELECT allowed, approval_required FROM support_settings WHERE org_id = $1',
    [orgId],
  );
  return row ?? { allowed: true, approval_required: false };
}

export async function upsertSettings(
  tx: Queryable,
  orgId: string,
  settings: SettingsView,
  now: Date,
): Promise<void> {
  await tx.query(
    `INSERT INTO support_settings (org_id, allowed, approval_required, updated_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (org_id) DO UPDATE SET allowed = excluded.allowed, approval_required = excluded.approval_required,
       updated_at = excluded.updated_at`,
    [orgId, settings.allowed, settings.approval_required, now],
  );
}
