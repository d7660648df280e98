import { assignments } from '../../../platform/db/assignments.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import type { ConnectionKind } from './kinds/index.ts';
import { type ConnectionFilters, connectionSorts, type TimeoutsView } from './schema.ts';

export interface ConnectionRow {
  readonly org_id: string;
  readonly id: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly base_url: string;
  /** Encrypted; null if `api_key_env` names the source of the key. */
  readonly api_key: Uint8Array | null;
  readonly api_key_last_four: string | null;
  readonly api_key_env: string | null;
  readonly api_key_set_at: Date;
  readonly previous_api_key: Uint8Array | null;
  readonly previous_until: Date | null;
  /** Null: every model. */
  readonly models: readonly string[] | null;
  readonly priority: bigint;
  readonly weight: bigint;
  readonly timeouts: TimeoutsView;
  readonly headers: Readonly<Record<string, string>>;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns =
  'org_id, id, name, kind, base_url, api_key, api_key_last_four, api_key_env, api_key_set_at, previous_api_key, ' +
  'previous_until, models, priority, weight, timeouts, headers, created_at, updated_at';

function valuesOf(row: ConnectionRow): unknown[] {
  return [
    row.org_id,
    row.id,
    row.name,
    row.kind,
    row.base_url,
    row.api_key,
    row.api_key_last_four,
    row.api_key_env,
    row.api_key_set_at,
    row.previous_api_key,
    row.previous_until,
    row.models,
    row.priority,
    row.weight,
    JSON.stringify(row.timeouts),
    JSON.stringify(row.headers),
    row.created_at,
    row.updated_at,
  ];
}

const placeholders =
  '$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::jsonb, $16::jsonb, $17, $18';

export async function insertConnection(tx: Queryable, row: ConnectionRow): Promise<void> {
  await tx.query(`INSERT INTO connections (${columns}) VALUES (${placeholders})`, valuesOf(row));
}

export async function updateConnection(tx: Queryable, row: ConnectionRow): Promise<void> {
  await tx.query(
    `UPDATE connections SET ${assignments(columns, placeholders, ['org_id', 'id'])} WHERE org_id = $1 AND id = $2`,
    valuesOf(row),
  );
}

export async function deleteConnection(tx: Queryable, orgId: string, id: string): Promise<void> {
  await tx.query('DELETE FROM connections WHERE org_id = $1 AND id = $2', [orgId, id]);
}

export async function findConnection(
  db: Queryable,
  orgId: string,
  id: string,
): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(
    `SELECT ${columns} FROM connections WHERE org_id = $1 AND id = $2`,
    [orgId, id],
  );
  return row;
}

export async function lockConnection(
  tx: Queryable,
  orgId: string,
  id: string,
): Promise<ConnectionRow | undefined> {
  const [row] = await tx.query<ConnectionRow>(
    `SELECT ${columns} FROM connections WHERE org_id = $1 AND id = $2 FOR UPDATE`,
    [orgId, id],
  );
  return row;
}

/** Returns all connections of an org; their number is bounded. */
export async function connectionsOf(db: Queryable, orgId: string): Promise<ConnectionRow[]> {
  return db.query<ConnectionRow>(`SELECT ${columns} FROM connections WHERE org_id = $1 ORDER BY id`, [orgId]);
}

export async function listConnections(
  db: Queryable,
  orgId: string,
  query: ConnectionFilters,
): Promise<PageOf<ConnectionRow>> {
  return selectPage<ConnectionRow>(db, {
    select: `SELECT ${columns} FROM connections`,
    where: [
      ['org_id = ?', orgId],
      ['kind = ?', query.kind],
      ['name = ?', query.name],
    ],
    sorts: connectionSorts,
    defaultSort: '-created_at',
    query,
  });
}
