import type { Queryable } from '../../../platform/db/database.ts';

export interface ModelNamesRow {
  readonly model: string;
  /** Null if never set. */
  readonly aliases: readonly string[] | null;
  readonly patterns: readonly string[] | null;
}

export async function allModelNames(db: Queryable): Promise<ModelNamesRow[]> {
  return db.query<ModelNamesRow>('SELECT model, aliases, patterns FROM model_names ORDER BY model', []);
}

export async function findModelNames(db: Queryable, model: string): Promise<ModelNamesRow | undefined> {
  const [row] = await db.query<ModelNamesRow>(
    'SELECT model, aliases, patterns FROM model_names WHERE model = $1',
    [model],
  );
  return row;
}

/** Serializes changes of names, so that no two models get the same one. */
export async function lockModelNames(tx: Queryable): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('model names', 0))", []);
}

/** Returns other models that have one of these names. */
export async function findNameOwners(
  tx: Queryable,
  model: string,
  aliases: readonly string[],
  patterns: readonly string[],
): Promise<ModelNamesRow[]> {
  return tx.query<ModelNamesRow>(
    `SELECT model, aliases, patterns FROM model_names
      WHERE model <> $1 AND (aliases && $2::text[] OR patterns && $3::text[]) ORDER BY model`,
    [model, aliases, patterns],
  );
}

export async function upsertModelNames(tx: Queryable, row: ModelNamesRow, now: Date): Promise<void> {
  await tx.query(
    `INSERT INTO model_names (model, aliases, patterns, updated_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (model) DO UPDATE SET aliases = excluded.aliases, patterns = excluded.patterns,
       updated_at = excluded.updated_at`,
    [row.model, row.aliases, row.patterns, now],
  );
}
