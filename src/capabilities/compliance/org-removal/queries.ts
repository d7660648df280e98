import type { Queryable } from '../../../platform/db/database.ts';

export async function markRemoved(tx: Queryable, orgId: string, now: Date): Promise<void> {
  await tx.query(
    `UPDATE orgs SET name = id, slug = id, suspension_reason = NULL, ip_allow_list = '{}', removed_at = $2, updated_at = $2
      WHERE id = $1`,
    [orgId, now],
  );
}

export interface RemovedOrg {
  readonly id: string;
  readonly removed_at: Date;
}

/** Returns removed orgs that may still have data, in the order of their removal. */
export async function selectUnpurged(db: Queryable, limit: number): Promise<RemovedOrg[]> {
  return db.query<RemovedOrg>(
    'SELECT id, removed_at FROM orgs WHERE removed_at IS NOT NULL AND emptied_at IS NULL ORDER BY removed_at LIMIT $1',
    [limit],
  );
}

export async function markPurged(db: Queryable, orgId: string, now: Date): Promise<void> {
  await db.query('UPDATE orgs SET emptied_at = $2 WHERE id = $1', [orgId, now]);
}

export interface OrgTable {
  readonly name: string;
  readonly column: 'org_id' | 'tenant_id';
}

/**
 * Lists every table with rows of orgs, partitions separately. Queried from the database catalog, so that a new table
 * cannot be missed; tables that others refer to come last. Keys are kept, revoked.
 */
export async function orgTables(db: Queryable): Promise<OrgTable[]> {
  return db.query<OrgTable>(
    `SELECT c.relname AS name, a.attname AS column
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'keys'
        AND a.attname IN ('org_id', 'tenant_id') AND NOT a.attisdropped
      ORDER BY EXISTS (SELECT FROM pg_constraint k WHERE k.confrelid = c.oid AND k.contype = 'f'), c.relname`,
    [],
  );
}

/** Deletes up to `limit` rows and returns their number. */
export async function deleteSome(
  db: Queryable,
  { name, column }: OrgTable,
  orgId: string,
  limit: number,
): Promise<number> {
  const rows = await db.query(
    `DELETE FROM "${name}" WHERE ${column} = $1 AND ctid = ANY (ARRAY(SELECT ctid FROM "${name}" WHERE ${column} = $1 LIMIT $2)) RETURNING 1 AS one`,
    [orgId, limit],
  );
  return rows.length;
}
