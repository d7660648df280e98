import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import type { PublicCredentials } from './credentials-schema.ts';
import type { ConnectionKind } from './kinds/index.ts';
import { type ConnectionFilters, connectionSorts, type TimeoutsView } from './schema.ts';

export const connectionsChanged = changeChannel('connections_changed');

export interface ConnectionRow {
  readonly org_id: string;
  readonly id: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly base_url: string;
  /** Encrypted; null if `api_key_env` or `credentials` name the source. */
  readonly api_key: Uint8Array | null;
  readonly api_key_last_four: string | null;
  readonly api_key_env: string | null;
  readonly api_key_set_at: Date;
  /** What is shown of `encrypted_credentials`; null if the connection has a key. */
  readonly credentials: PublicCredentials | null;
  readonly encrypted_credentials: Uint8Array | null;
  readonly region: string | null;
  readonly previous_api_key: Uint8Array | null;
  readonly previous_credentials: Uint8Array | null;
  readonly previous_until: Date | null;
  /** Null: every model. */
  readonly models: readonly string[] | null;
  readonly priority: bigint;
  readonly weight: bigint;
  readonly timeouts: TimeoutsView;
  readonly headers: Readonly<Record<string, string>>;
  /** Models by the name of their deployment. */
  readonly deployment_models: Readonly<Record<string, string>>;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns = `org_id, id, name, kind, base_url, api_key, api_key_last_four, api_key_env, api_key_set_at, credentials, encrypted_credentials,
  region, previous_api_key, previous_credentials, previous_until, models, priority, weight, timeouts, headers, deployment_models, created_at, updated_at`;

export const {
  insert: insertConnection,
  update: updateConnection,
  delete: deleteConnection,
  find: findConnection,
  lock: lockConnection,
} = tableOf<ConnectionRow>()('connections', {
  columns,
  key: ['org_id', 'id'],
  json: ['credentials', 'timeouts', 'headers', 'deployment_models'],
});

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
