import type { AttributionField, AttributionValues } from '../../../contract/attribution.ts';
import type { OrgRole, Role } from '../../../contract/scopes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type Condition, type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type CredentialOrgRow, credentialOrgColumns, scopesInForce } from '../keys/index.ts';
import { type SessionFilters, type SessionMethod, type SessionStatus, sessionSorts } from './schema.ts';

export interface SessionRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly digest: string;
  readonly method: SessionMethod;
  /** Holder of the session: either `key_id` or `member_id` is set. */
  readonly key_id: string | null;
  readonly member_id: string | null;
  readonly role: OrgRole | null;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: Date;
  readonly last_seen_at: Date;
  readonly expires_at: Date;
  readonly ended_at: Date | null;
}

/** A session with the current state of its holder. */
export interface HeldSessionRow extends SessionRow, CredentialOrgRow {
  /** Time when the session ends without an action: at its own end, at its key's expiry, or after the idle time. */
  readonly over_at: Date;
  readonly key_name: string | null;
  readonly key_role: Role | null;
  readonly key_scopes: readonly string[] | null;
  readonly key_revoked_at: Date | null;
  readonly key_ends_at: Date | null;
  readonly key_attribution: AttributionValues | null;
  readonly key_attribution_locked: readonly AttributionField[] | null;
  readonly member_name: string | null;
  readonly member_role: OrgRole | null;
  readonly member_removed_at: Date | null;
}

export const { insert: insertSession } = tableOf<SessionRow>()('sessions', {
  columns: `tenant_id, id, digest, method, key_id, member_id, role, address, user_agent, created_at, last_seen_at, expires_at,
    ended_at`,
  key: ['tenant_id', 'id'],
});

/** Returns the query of sessions with their holder. `idleSeconds` is an integer from the settings, so it is safe in the statement. */
const held = (idleSeconds: number) => `
  SELECT s.*, least(s.expires_at, k.expires_at, s.last_seen_at + make_interval(secs => ${idleSeconds})) AS over_at,
         k.name AS key_name, k.role AS key_role, ${scopesInForce('k')} AS key_scopes, k.revoked_at AS key_revoked_at, k.ends_at AS key_ends_at,
         k.attribution AS key_attribution, k.attribution_locked AS key_attribution_locked, m.name AS member_name, m.role AS member_role,
         m.removed_at AS member_removed_at, ${credentialOrgColumns}
    FROM sessions s
    LEFT JOIN keys k ON k.id = s.key_id
    LEFT JOIN members m ON m.org_id = s.tenant_id AND m.id = s.member_id
    LEFT JOIN orgs o ON o.id = s.tenant_id`;

/** Searches all tenants like `findKeyByDigest`, because the digest determines the tenant. */
export async function findSessionByDigest(
  db: Queryable,
  idleSeconds: number,
  digest: string,
): Promise<HeldSessionRow | undefined> {
  const [row] = await db.query<HeldSessionRow>(`${held(idleSeconds)} WHERE s.digest = $1`, [digest]);
  return row;
}

export async function lockSession(
  tx: Queryable,
  idleSeconds: number,
  tenantId: string,
  sessionId: string,
): Promise<HeldSessionRow | undefined> {
  const [row] = await tx.query<HeldSessionRow>(
    `${held(idleSeconds)} WHERE s.tenant_id = $1 AND s.id = $2 FOR UPDATE OF s`,
    [tenantId, sessionId],
  );
  return row;
}

/** Locks and returns the sessions of a member that have no end yet. */
export async function lockMemberSessions(
  tx: Queryable,
  idleSeconds: number,
  tenantId: string,
  memberId: string,
): Promise<HeldSessionRow[]> {
  return tx.query<HeldSessionRow>(
    `${held(idleSeconds)} WHERE s.tenant_id = $1 AND s.member_id = $2 AND s.ended_at IS NULL
      ORDER BY s.id FOR UPDATE OF s`,
    [tenantId, memberId],
  );
}

export async function touchSession(db: Queryable, { tenant_id, id }: SessionRow, now: Date): Promise<void> {
  await db.query(
    'UPDATE sessions SET last_seen_at = $3 WHERE tenant_id = $1 AND id = $2 AND last_seen_at < $3',
    [tenant_id, id, now],
  );
}

export async function endSession(tx: Queryable, { tenant_id, id }: SessionRow, now: Date): Promise<void> {
  await tx.query('UPDATE sessions SET ended_at = $3 WHERE tenant_id = $1 AND id = $2 AND ended_at IS NULL', [
    tenant_id,
    id,
    now,
  ]);
}

export interface SessionListing {
  readonly tenantId: string;
  /** Only lists sessions of this key or member; undefined: of all. */
  readonly holder: string | undefined;
  readonly now: Date;
  readonly idleSeconds: number;
}

export async function listSessions(
  db: Queryable,
  { tenantId, holder, now, idleSeconds }: SessionListing,
  query: SessionFilters,
): Promise<PageOf<HeldSessionRow>> {
  return selectPage<HeldSessionRow>(db, {
    select: `SELECT * FROM (${held(idleSeconds)}) AS held`,
    where: [
      ['tenant_id = ?', tenantId],
      ['coalesce(key_id, member_id) = ?', holder],
      ['key_id = ?', query.key_id],
      ['member_id = ?', query.member_id],
      ['method = ?', query.method],
      ...statusConditions(query.status, now),
    ],
    sorts: sessionSorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Returns conditions with the same precedence as `sessionStatus`: revoked, then expired. */
function statusConditions(status: SessionStatus | undefined, now: Date): Condition[] {
  const isRevoked =
    'ended_at IS NOT NULL OR key_revoked_at IS NOT NULL OR member_removed_at IS NOT NULL OR coalesce(key_ends_at <= ?, false)';
  switch (status) {
    case undefined:
      return [];
    case 'revoked':
      return [[`(${isRevoked})`, now]];
    case 'expired':
      return [
        [`NOT (${isRevoked})`, now],
        ['over_at <= ?', now],
      ];
    case 'active':
      return [
        [`NOT (${isRevoked})`, now],
        ['over_at > ?', now],
      ];
  }
}
