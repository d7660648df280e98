import type { AttributionField, AttributionValues } from '../../../contract/attribution.ts';
import type { HoldMode } from '../../../contract/hold-modes.ts';
import { attributionLabels } from '../../../contract/run-dimensions.ts';
import { currentScopeGeneration, type Role } from '../../../contract/scopes.ts';
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import {
  type Condition,
  type PageOf,
  searchCondition,
  selectPage,
} from '../../../platform/http/routes/list.ts';
import type { ResidencyMode } from '../orgs/index.ts';
import { type KeyFilters, type KeyStatus, keySorts } from './schema.ts';
import { scopesInForce } from './scopes-in-force.ts';

/** The payload is the digest of the key. */
export const keyChanged = changeChannel('key_changed');

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
  /** The key is revoked if this is set, even if the time is in the future by this process's clock. */
  readonly revoked_at: Date | null;
  /** End of a rotated key that overlaps with its successor. */
  readonly ends_at: Date | null;
  readonly rotated_from: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly attribution: AttributionValues;
  readonly attribution_locked: readonly AttributionField[];
  /** Null: the setting of the org. */
  readonly hold: HoldMode | null;
  /** Null: the setting of the org. */
  readonly reserve_for_running: number | null;
  /** The key or member that created the key. Null if a command created it, or for keys from before this was recorded. */
  readonly created_by: string | null;
}

const stored = `org_id, id, digest, hint, name, role, scopes, not_before, expires_at, revoked_at, ends_at, rotated_from, created_at,
  last_used_at, attribution, attribution_locked, hold, reserve_for_running, created_by`;
const keys = tableOf<KeyRow>()('keys', { columns: stored, key: ['id'], json: ['attribution'] });

/** Returns the columns of a `KeyRow`, with the scopes in force. */
const columnsOf = (table: string) =>
  stored
    .split(/,\s+/)
    .map((column) => (column === 'scopes' ? `${scopesInForce(table)} AS scopes` : `${table}.${column}`))
    .join(', ');
const columns = columnsOf('keys');

export async function insertKey(tx: Queryable, key: KeyRow): Promise<void> {
  await tx.query(`INSERT INTO keys (${stored}, scopes_generation) VALUES (${keys.placeholders}, $20)`, [
    ...keys.valuesOf(key),
    currentScopeGeneration,
  ]);
}

/** Returns a key. `orgId` null selects operator keys. */
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

/** Returns the keys of an org that are or will be valid, oldest first. Leaves out keys that a rotation has replaced. */
export async function selectKeys(db: Queryable, orgId: string, now: Date): Promise<KeyRow[]> {
  return db.query<KeyRow>(
    `SELECT ${columns} FROM keys
      WHERE org_id = $1 AND revoked_at IS NULL AND ends_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
      ORDER BY created_at, id`,
    [orgId, now],
  );
}

/** Returns the expired keys of an org with these names, including those that were revoked or replaced before they expired. */
export async function selectExpiredKeys(
  db: Queryable,
  orgId: string,
  names: readonly string[],
  now: Date,
): Promise<{ readonly name: string; readonly expires_at: Date }[]> {
  return db.query(
    'SELECT name, expires_at FROM keys WHERE org_id = $1 AND name = ANY($2) AND expires_at <= $3',
    [orgId, names, now],
  );
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

/** Locks and returns the keys that are locked to a member and not revoked. */
export async function lockMemberKeys(tx: Queryable, orgId: string, memberId: string): Promise<KeyRow[]> {
  return tx.query<KeyRow>(
    `SELECT ${columns} FROM keys
      WHERE org_id = $1 AND attribution ->> 'member_id' = $2 AND 'member_id' = ANY(attribution_locked) AND revoked_at IS NULL
      ORDER BY id FOR UPDATE`,
    [orgId, memberId],
  );
}

/** Ids of keys and members behind a key. */
export interface KeyOrigins {
  /** The key itself, the keys that it was rotated from, and the member that it is locked to. */
  readonly holders: readonly string[];
  /** The keys and members that created the key, directly, through other keys, or by a rotation. */
  readonly creators: readonly string[];
}

/** Returns the origins of a key. For the id of a member, returns only that id. */
export async function findKeyOrigins(db: Queryable, orgId: string, keyId: string): Promise<KeyOrigins> {
  const line = await db.query<{
    id: string;
    is_holder: boolean;
    member_id: string | null;
    creator: string | null;
  }>(
    `WITH RECURSIVE line AS (
       SELECT id, true AS is_holder FROM keys WHERE org_id = $1 AND id = $2
       UNION
       SELECT origin.id, is_holder AND origin.id IS NOT DISTINCT FROM key.rotated_from
         FROM line JOIN keys AS key ON key.org_id = $1 AND key.id = line.id
         JOIN keys AS origin ON origin.org_id = $1 AND origin.id IN (key.rotated_from, key.created_by)
     )
     SELECT id, is_holder, created_by AS creator,
            CASE WHEN id = $2 AND 'member_id' = ANY(attribution_locked) THEN attribution ->> 'member_id' END AS member_id
       FROM line JOIN keys USING (id) WHERE org_id = $1`,
    [orgId, keyId],
  );
  const keys = line.filter(({ is_holder }) => is_holder).map(({ id }) => id);
  return {
    holders: [keyId, ...keys, ...line.flatMap(({ member_id }) => member_id ?? [])],
    creators: line.flatMap(({ creator }) => creator ?? []),
  };
}

/** Returns the roles of keys by id. */
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

/** Returns the attribution of a key; undefined if the org has no such key. */
export async function findAttribution(
  db: Queryable,
  orgId: string,
  keyId: string,
): Promise<AttributionValues | undefined> {
  const [row] = await db.query<Pick<KeyRow, 'attribution'>>(
    'SELECT attribution FROM keys WHERE org_id = $1 AND id = $2',
    [orgId, keyId],
  );
  return row?.attribution;
}

export async function updateEnd(tx: Queryable, key: KeyRow): Promise<void> {
  await tx.query(
    'UPDATE keys SET revoked_at = $3, ends_at = $4 WHERE org_id IS NOT DISTINCT FROM $1 AND id = $2',
    [key.org_id, key.id, key.revoked_at, key.ends_at],
  );
}

export async function updateKey(tx: Queryable, key: KeyRow): Promise<void> {
  await tx.query(
    `UPDATE keys SET name = $3, attribution = $4, attribution_locked = $5, hold = $6, reserve_for_running = $7
      WHERE org_id IS NOT DISTINCT FROM $1 AND id = $2`,
    [
      key.org_id,
      key.id,
      key.name,
      JSON.stringify(key.attribution),
      key.attribution_locked,
      key.hold,
      key.reserve_for_running,
    ],
  );
}

/** Stores the last use of keys. Skips rows that others have locked, because these keys were just changed or will be used again soon. */
export async function updateLastUse(db: Queryable, keyIds: readonly string[], at: Date): Promise<void> {
  await db.query(
    `UPDATE keys SET last_used_at = $2
      WHERE id IN (SELECT id FROM keys WHERE id = ANY($1) AND coalesce(last_used_at < $2, true) FOR UPDATE SKIP LOCKED)`,
    [keyIds, at],
  );
}

/** Revokes all keys of a removed org. */
export async function revokeKeysOf(tx: Queryable, orgId: string, now: Date): Promise<void> {
  await tx.query(
    `UPDATE keys SET revoked_at = coalesce(revoked_at, $2), name = id, attribution = '{}', attribution_locked = '{}'
      WHERE org_id = $1`,
    [orgId, now],
  );
}

/**
 * Marks keys that expire within this many days and were not reported at this distance yet. Skips keys with a shorter total
 * lifetime, because that is intended.
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

/** Returns the keys of an org that expire in a time range, in the order of expiry. */
export function findKeysExpiring(
  db: Queryable,
  orgId: string,
  from: Date,
  to: Date,
  limit: number,
): Promise<{ readonly id: string; readonly name: string; readonly expires_at: Date }[]> {
  return db.query(
    `SELECT id, name, expires_at FROM keys
      WHERE org_id = $1 AND revoked_at IS NULL AND (ends_at IS NULL OR ends_at > expires_at)
        AND expires_at > $2 AND expires_at <= $3
      ORDER BY expires_at, id LIMIT $4`,
    [orgId, from, to, limit],
  );
}

export interface CredentialRow extends KeyRow, CredentialOrgRow {}

/** Fields of the org; all null for a credential without one. */
export interface CredentialOrgRow {
  readonly org_name: string | null;
  readonly org_timezone: string | null;
  readonly org_status: 'active' | 'suspended' | null;
  readonly ip_allow_list: readonly string[] | null;
  readonly home_region: string | null;
  readonly residency_mode: ResidencyMode | null;
}

/** Columns of the table `orgs`, which must be joined as `o`. */
export const credentialOrgColumns = `o.name AS org_name, o.timezone AS org_timezone, o.status AS org_status, o.ip_allow_list,
  o.home_region, o.residency_mode`;

/** Searches all tenants, because the digest determines the caller's tenant. */
export async function findKeyByDigest(db: Queryable, digest: string): Promise<CredentialRow | undefined> {
  const [row] = await db.query<CredentialRow>(
    `SELECT ${columnsOf('k')}, ${credentialOrgColumns}
       FROM keys k LEFT JOIN orgs o ON o.id = k.org_id WHERE k.digest = $1`,
    [digest],
  );
  return row;
}

export async function findKeysByDigest(
  db: Queryable,
  digests: readonly string[],
): Promise<(CredentialRow & { readonly digest: string })[]> {
  return db.query(
    `SELECT ${columnsOf('k')}, ${credentialOrgColumns}
       FROM keys k LEFT JOIN orgs o ON o.id = k.org_id WHERE k.digest = ANY($1)`,
    [digests],
  );
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
      searchCondition(['name', 'id'], query.search),
      ['role = ?', query.role],
      ...attributionLabels.map((label): Condition => [`attribution ->> '${label}' = ?`, query[label]]),
      ...unusedConditions(query.unused_days, now),
      ...statusConditions(query.status, now),
    ],
    sorts: keySorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Keys that were neither used nor created nor became valid in these days, and have not ended. */
function unusedConditions(days: number | undefined, now: Date): Condition[] {
  return days === undefined
    ? []
    : [
        [
          'greatest(last_used_at, created_at, not_before) <= ?',
          new Date(now.getTime() - days * 24 * 3_600_000),
        ],
        ...statusConditions('active', now),
      ];
}

/** Returns conditions with the same precedence as `keyStatus`: revoked, then expired, then not yet valid. */
function statusConditions(status: KeyStatus | undefined, now: Date): Condition[] {
  const notEnded: Condition = ['revoked_at IS NULL AND coalesce(ends_at > ?, true)', now];
  const lasting: Condition = ['coalesce(expires_at > ?, true)', now];
  switch (status) {
    case undefined:
      return [];
    case 'revoked':
      return [['(revoked_at IS NOT NULL OR ends_at <= ?)', now]];
    case 'expired':
      return [notEnded, ['expires_at <= ?', now]];
    case 'not_yet_valid':
      return [notEnded, lasting, ['not_before > ?', now]];
    case 'active':
      return [notEnded, lasting, ['coalesce(not_before <= ?, true)', now]];
  }
}
