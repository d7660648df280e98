import type { Role } from '../../../contract/scopes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type Condition, type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import type { ResidencyMode } from '../orgs/index.ts';
import { type KeyFilters, type KeyStatus, keySorts } from './schema.ts';

export interface KeyRow {
  /** Null for an operator key. */
  readonly org_id: string | null;
  readonly id: string;
  readonly digest: string;
  readonly hint: string;
  readonly name: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly not_before: Date | null;
  readonly expires_at: Date | null;
  /** Set: gone, whatever this process's clock says. */
  readonly revoked_at: Date | null;
  /** Set for a rotated key that overlaps with its successor: gone from then on. */
  readonly ends_at: Date | null;
  readonly rotated_from: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}

const columns = `org_id, id, digest, hint, name, role, scopes, not_before, expires_at, revoked_at, ends_at, rotated_from, created_at, last_used_at`;

export async function insertKey(tx: Queryable, key: KeyRow): Promise<void> {
  await tx.query(
    `INSERT INTO keys (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      key.org_id,
      key.id,
      key.digest,
      key.hint,
      key.name,
      key.role,
      key.scopes,
      key.not_before,
      key.expires_at,
      key.revoked_at,
      key.ends_at,
      key.rotated_from,
      key.created_at,
      key.last_used_at,
    ],
  );
}

/** `orgId` null stands for the operators' keys. */
export async function findKey(
  db: Queryable,
  orgId: string | null,
  keyId: string,
): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(
    `SELECT ${columns} FROM keys WHERE org_id IS NOT DISTINCT FROM $1 AND id = $2`,
    [orgId, keyId],
  );
  return row;
}

export async function lockKey(
  tx: Queryable,
  orgId: string | null,
  keyId: string,
): Promise<KeyRow | undefined> {
  const [row] = await tx.query<KeyRow>(
    `SELECT ${columns} FROM keys WHERE org_id IS NOT DISTINCT FROM $1 AND id = $2 FOR UPDATE`,
    [orgId, keyId],
  );
  return row;
}

/** Whether two keys are the same one, as far as rotations go: each goes back to the same first key. */
export async function isSameHolder(
  db: Queryable,
  orgId: string,
  one: string,
  other: string,
): Promise<boolean> {
  const firsts = await db.query<{ id: string }>(
    `WITH RECURSIVE line AS (
       SELECT id AS asked, id, rotated_from FROM keys WHERE org_id = $1 AND id = ANY($2)
       UNION
       SELECT line.asked, keys.id, keys.rotated_from
         FROM keys JOIN line ON keys.id = line.rotated_from WHERE keys.org_id = $1
     )
     SELECT id FROM line WHERE rotated_from IS NULL`,
    [orgId, [one, other]],
  );
  // Where one of them is no key but a person, there is one first key, or none.
  return one === other || (firsts.length === 2 && firsts[0]?.id === firsts[1]?.id);
}

/** The roles of keys, by their ids. */
export async function rolesOf(
  db: Queryable,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Role>> {
  const rows = await db.query<{ id: string; role: Role }>(
    'SELECT id, role FROM keys WHERE org_id = $1 AND id = ANY($2)',
    [orgId, ids],
  );
  return new Map(rows.map(({ id, role }) => [id, role]));
}

export async function updateEnd(tx: Queryable, key: KeyRow): Promise<void> {
  await tx.query(
    'UPDATE keys SET revoked_at = $3, ends_at = $4 WHERE org_id IS NOT DISTINCT FROM $1 AND id = $2',
    [key.org_id, key.id, key.revoked_at, key.ends_at],
  );
}

/** Keys that somebody else holds at this moment are left out: they are used again soon, or were changed just now. */
export async function updateLastUse(db: Queryable, keyIds: readonly string[], at: Date): Promise<void> {
  await db.query(
    `UPDATE keys SET last_used_at = $2
      WHERE id IN (SELECT id FROM keys WHERE id = ANY($1) AND coalesce(last_used_at < $2, true) FOR UPDATE SKIP LOCKED)`,
    [keyIds, at],
  );
}

/** All at once, for an org that is no more. */
export async function revokeKeysOf(tx: Queryable, orgId: string, now: Date): Promise<void> {
  await tx.query('UPDATE keys SET revoked_at = coalesce(revoked_at, $2), name = id WHERE org_id = $1', [
    orgId,
    now,
  ]);
}

/**
 * Marks keys of orgs that expire within some days and have not been told of at that distance. One that was made to last
 * no longer than that is left alone: whoever made it knows.
 */
export async function markExpiring(tx: Queryable, now: Date, days: number, limit: number): Promise<KeyRow[]> {
  return tx.query<KeyRow>(
    `UPDATE keys SET expiry_notice_days = $2
      WHERE id IN (
        SELECT id FROM keys
         WHERE org_id IS NOT NULL AND revoked_at IS NULL AND (ends_at IS NULL OR ends_at > expires_at)
           AND expires_at > $1 AND expires_at <= $1 + make_interval(days => $2)
           AND created_at < expires_at - make_interval(days => $2)
           AND (expiry_notice_days IS NULL OR expiry_notice_days > $2)
         LIMIT $3 FOR UPDATE SKIP LOCKED)
     RETURNING ${columns}`,
    [now, days, limit],
  );
}

export interface CredentialRow extends KeyRow, CredentialOrgRow {}

/** All null where there is no org. */
export interface CredentialOrgRow {
  readonly org_name: string | null;
  readonly org_timezone: string | null;
  readonly org_status: 'active' | 'suspended' | null;
  readonly ip_allow_list: readonly string[] | null;
  readonly home_region: string | null;
  readonly residency_mode: ResidencyMode | null;
}

/** Of `orgs`, wherever it is joined as `o`. */
export const credentialOrgColumns = `o.name AS org_name, o.timezone AS org_timezone, o.status AS org_status, o.ip_allow_list,
  o.home_region, o.residency_mode`;

/** The one statement that crosses tenants: a digest is how a caller's tenant is found in the first place. */
export async function findKeyByDigest(db: Queryable, digest: string): Promise<CredentialRow | undefined> {
  const [row] = await db.query<CredentialRow>(
    `SELECT k.*, ${credentialOrgColumns}
       FROM keys k LEFT JOIN orgs o ON o.id = k.org_id WHERE k.digest = $1`,
    [digest],
  );
  return row;
}

export async function operatorKeyExists(db: Queryable): Promise<boolean> {
  return (await db.query(`SELECT 1 AS one FROM keys WHERE org_id IS NULL LIMIT 1`, [])).length > 0;
}

export async function listKeys(
  db: Queryable,
  orgId: string | null,
  query: KeyFilters,
  now: Date,
): Promise<PageOf<KeyRow>> {
  const owned: Condition = orgId === null ? ['org_id IS NULL AND ? = true', true] : ['org_id = ?', orgId];
  return selectPage<KeyRow>(db, {
    select: `SELECT ${columns} FROM keys`,
    where: [
      owned,
      ['name = ?', query.name],
      ['role = ?', query.role],
      ...statusConditions(query.status, now),
    ],
    sorts: keySorts,
    defaultSort: '-created_at',
    query,
  });
}

/** The same order as in `keyStatus`: revoked before expired before not yet valid. */
function statusConditions(status: KeyStatus | undefined, now: Date): Condition[] {
  const standing: Condition = ['revoked_at IS NULL AND coalesce(ends_at > ?, true)', now];
  const lasting: Condition = ['coalesce(expires_at > ?, true)', now];
  switch (status) {
    case undefined:
      return [];
    case 'revoked':
      return [['(revoked_at IS NOT NULL OR ends_at <= ?)', now]];
    case 'expired':
      return [standing, ['expires_at <= ?', now]];
    case 'not_yet_valid':
      return [standing, lasting, ['not_before > ?', now]];
    case 'active':
      return [standing, lasting, ['coalesce(not_before <= ?, true)', now]];
  }
}
