import type { Queryable } from '../../../platform/db/database.ts';

/** The names of a model. Names that neither the operator nor the catalogue has set are null. */
export interface ModelNamesRow {
  readonly model: string;
  /** Names that the operator has set; null: those of the catalogue apply. */
  readonly aliases: readonly string[] | null;
  readonly patterns: readonly string[] | null;
  readonly catalog_aliases: readonly string[] | null;
  readonly catalog_patterns: readonly string[] | null;
}

const columns = 'model, aliases, patterns, catalog_aliases, catalog_patterns';

export async function allModelNames(db: Queryable): Promise<ModelNamesRow[]> {
  return db.query<ModelNamesRow>(`SELECT ${columns} FROM model_names ORDER BY model`, []);
}

export async function findModelNames(db: Queryable, model: string): Promise<ModelNamesRow | undefined> {
  const [row] = await db.query<ModelNamesRow>(`SELECT ${columns} FROM model_names WHERE model = $1`, [model]);
  return row;
}

/** Serializes changes of names, so that two models never get the same name. */
export async function lockModelNames(tx: Queryable): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('model names', 0))", []);
}

/** Returns other models for which the operator set one of these names. */
export async function findNameOwners(
  tx: Queryable,
  model: string,
  aliases: readonly string[],
  patterns: readonly string[],
): Promise<ModelNamesRow[]> {
  return tx.query<ModelNamesRow>(
    `SELECT ${columns} FROM model_names
      WHERE model <> $1 AND (aliases && $2::text[] OR patterns && $3::text[]) ORDER BY model`,
    [model, aliases, patterns],
  );
}

export async function upsertModelNames(
  tx: Queryable,
  { model, aliases, patterns }: Pick<ModelNamesRow, 'model' | 'aliases' | 'patterns'>,
  now: Date,
): Promise<void> {
  await tx.query(
    `INSERT INTO model_names (model, aliases, patterns, updated_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (model) DO UPDATE SET aliases = excluded.aliases, patterns = excluded.patterns,
       updated_at = excluded.updated_at`,
    [model, aliases, patterns, now],
  );
}

/**
 * Sets the names of the catalog, except where those of a newer catalog are stored: releases run side by side during an
 * upgrade. Returns the number of models whose names changed.
 */
export async function upsertCatalogNames(
  tx: Queryable,
  models: readonly {
    readonly model: string;
    readonly aliases?: readonly string[];
    readonly patterns?: readonly string[];
  }[],
  catalogDate: string,
  now: Date,
): Promise<number> {
  await lockModelNames(tx);
  const changed = await tx.query(
    `INSERT INTO model_names (model, catalog_aliases, catalog_patterns, catalog_date, updated_at)
     SELECT model, aliases, patterns, $2, $3
       FROM jsonb_to_recordset($1::jsonb) AS n(model text, aliases text[], patterns text[])
      WHERE aliases IS NOT NULL OR patterns IS NOT NULL
         OR EXISTS (SELECT 1 FROM model_names m WHERE m.model = n.model)
     ON CONFLICT (model) DO UPDATE SET catalog_aliases = excluded.catalog_aliases,
       catalog_patterns = excluded.catalog_patterns, catalog_date = excluded.catalog_date,
       updated_at = excluded.updated_at
      WHERE model_names.catalog_date < excluded.catalog_date
     RETURNING model`,
    [
      JSON.stringify(models.map(({ model, aliases, patterns }) => ({ model, aliases, patterns }))),
      catalogDate,
      now,
    ],
  );
  return changed.length;
}

/**
 * Adds names to those of the catalog. A release whose catalog is older than `date` does not replace them. Returns the number
 * of models whose names changed.
 */
export async function addCatalogNames(
  tx: Queryable,
  models: readonly {
    readonly model: string;
    readonly aliases?: readonly string[];
    readonly patterns?: readonly string[];
  }[],
  date: string,
  now: Date,
): Promise<number> {
  const named = models.flatMap(({ model, aliases = [], patterns = [] }) =>
    aliases.length + patterns.length > 0 ? [{ model, aliases, patterns }] : [],
  );
  if (named.length === 0) {
    return 0;
  }
  await lockModelNames(tx);
  const both = (one: string, other: string) =>
    `ARRAY(SELECT DISTINCT name FROM unnest(coalesce(${one}, '{}') || ${other}) AS name ORDER BY name)`;
  const changed = await tx.query(
    `INSERT INTO model_names (model, catalog_aliases, catalog_patterns, catalog_date, updated_at)
     SELECT model, aliases, patterns, $2, $3
       FROM jsonb_to_recordset($1::jsonb) AS n(model text, aliases text[], patterns text[])
     ON CONFLICT (model) DO UPDATE SET
       catalog_aliases = ${both('model_names.catalog_aliases', 'excluded.catalog_aliases')},
       catalog_patterns = ${both('model_names.catalog_patterns', 'excluded.catalog_patterns')},
       catalog_date = greatest(model_names.catalog_date, excluded.catalog_date),
       updated_at = excluded.updated_at
      WHERE NOT coalesce(model_names.catalog_aliases, '{}') @> excluded.catalog_aliases
         OR NOT coalesce(model_names.catalog_patterns, '{}') @> excluded.catalog_patterns
     RETURNING model`,
    [JSON.stringify(named), date, now],
  );
  return changed.length;
}
