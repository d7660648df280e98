import type { Queryable } from '../../../platform/db/database.ts';

export async function databaseVersion(db: Queryable): Promise<string> {
  const [row] = await db.query<{ version: string }>(`SELECT split_part(version(), ' on ', 1) AS version`, []);
  return row?.version ?? '';
}

export interface LastMigration {
  readonly applied: number;
  readonly name: string | null;
  readonly applied_at: Date | null;
}

export async function lastMigration(db: Queryable): Promise<LastMigration> {
  const [row] = await db.query<LastMigration>(
    `SELECT count(*)::int4 AS applied, (array_agg(name ORDER BY version DESC))[1] AS name, max(applied_at) AS applied_at
       FROM schema_migrations`,
    [],
  );
  return row ?? { applied: 0, name: null, applied_at: null };
}
