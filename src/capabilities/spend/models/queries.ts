import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import type { PriceColumns } from './price-columns.ts';
import { type RateColumn, rateColumns } from './rates.ts';
import { type ModelPriceFilters, type OrgPriceFilters, priceSorts } from './schema.ts';
import type { Version } from './versions.ts';

/** The payload is always `allModels`: a change of one model invalidates the prices and capabilities of all models. */
export const modelPricesChanged = changeChannel('model_price_changed');
export const allModels = '';
export const orgPricesChanged = changeChannel('org_price_changed');

interface PriceRow extends Version, PriceColumns {
  readonly model: string;
  readonly created_at: Date;
}

export interface ModelPriceRow extends PriceRow {
  readonly provider: string | null;
  /** True if price updates may replace the version. Null in rows of release 0.1.0; see `followsUpdates`. */
  readonly follows_updates: boolean | null;
  /** Price list of the rates; null if an operator set them. */
  readonly source: string | null;
}

export interface OrgPriceRow extends PriceRow {
  readonly org_id: string;
  /** Discount in basis points; null if the org has custom rates. */
  readonly discount_basis_points: number | null;
}

const common = [
  'model',
  'id',
  ...rateColumns,
  'modifiers',
  'units',
  'effective_from',
  'ended_at',
  'created_at',
] as const;
const modelColumns = [...common, 'provider', 'follows_updates', 'source'] as const;
const orgColumns = [...common, 'org_id', 'discount_basis_points'] as const;

/** Column types of `model_prices`, for bulk inserts. */
export const modelPriceColumns = {
  id: 'text',
  model: 'text',
  provider: 'text',
  ...(Object.fromEntries(rateColumns.map((column) => [column, 'int8'])) as Record<RateColumn, 'int8'>),
  modifiers: 'jsonb',
  units: 'jsonb',
  effective_from: 'timestamptz',
  ended_at: 'timestamptz',
  created_at: 'timestamptz',
  follows_updates: 'bool',
  source: 'text',
} as const;

const latestFirst = 'ORDER BY effective_from DESC, created_at DESC, id DESC';

const allPrices = "hashtextextended('all model prices', 0)";

/**
 * Serializes writers of a model's price, so that the versions that they read stay valid. Writers of different models only wait for
 * price updates.
 */
export async function lockModel(tx: Queryable, model: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${allPrices})`, []);
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`model price ${model}`]);
}

/** Locks several models, in the order of their names so that starts cannot deadlock. */
export async function lockModels(tx: Queryable, models: readonly string[]): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${allPrices})`, []);
  await tx.query(
    `SELECT pg_advisory_xact_lock(hashtextextended('model price ' || model, 0))
       FROM (SELECT unnest($1::text[]) AS model ORDER BY 1) AS models`,
    [models],
  );
}

/** Locks out all other writers of list prices. Locks for each model could exceed the lock table of PostgreSQL. */
export async function lockAllModels(tx: Queryable): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${allPrices})`, []);
}

export async function modelVersions(db: Queryable, model: string): Promise<ModelPriceRow[]> {
  return db.query<ModelPriceRow>(
    `SELECT ${modelColumns.join()} FROM model_prices WHERE model = $1 ${latestFirst}`,
    [model],
  );
}

export async function orgVersions(db: Queryable, orgId: string, model: string): Promise<OrgPriceRow[]> {
  return db.query<OrgPriceRow>(
    `SELECT ${orgColumns.join()} FROM org_prices WHERE org_id = $1 AND model = $2 ${latestFirst}`,
    [orgId, model],
  );
}

export async function versionsOfModels(db: Queryable, models: readonly string[]): Promise<ModelPriceRow[]> {
  return db.query<ModelPriceRow>(
    `SELECT ${modelColumns.join()} FROM model_prices WHERE model = ANY($1) ${latestFirst}`,
    [models],
  );
}

export async function versionsOfOrgModels(
  db: Queryable,
  orgId: string,
  models: readonly string[],
): Promise<OrgPriceRow[]> {
  return db.query<OrgPriceRow>(
    `SELECT ${orgColumns.join()} FROM org_prices WHERE org_id = $1 AND model = ANY($2) ${latestFirst}`,
    [orgId, models],
  );
}

/** Returns the model of each price version. `versionIds` come from runs and holds, so they may be `prc_…+prc_…`. */
export async function modelsOfVersions(
  db: Queryable,
  orgId: string,
  versionIds: readonly string[],
): Promise<Map<string, string>> {
  const ids = versionIds.flatMap((versionId) => versionId.split('+'));
  const rows = await db.query<{ id: string; model: string }>(
    `SELECT id, model FROM model_prices WHERE id = ANY($2)
     UNION ALL SELECT id, model FROM org_prices WHERE org_id = $1 AND id = ANY($2)`,
    [orgId, ids],
  );
  const models = new Map(rows.map(({ id, model }) => [id, model]));
  return new Map(
    versionIds.flatMap((versionId) => {
      const model = models.get(versionId.split('+')[0] as string);
      return model === undefined ? [] : [[versionId, model]];
    }),
  );
}

/** Returns all versions, including withdrawn ones, because runs may reference them. */
export async function allModelVersions(db: Queryable): Promise<ModelPriceRow[]> {
  return db.query<ModelPriceRow>(`SELECT ${modelColumns.join()} FROM model_prices ${latestFirst}`, []);
}

/** Returns all models that have a price or had one. */
export async function namesOfModels(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ model: string }>('SELECT DISTINCT model FROM model_prices', []);
  return rows.map(({ model }) => model);
}

export async function allOrgVersions(db: Queryable, orgId: string): Promise<OrgPriceRow[]> {
  return db.query<OrgPriceRow>(
    `SELECT ${orgColumns.join()} FROM org_prices WHERE org_id = $1 ${latestFirst}`,
    [orgId],
  );
}

export async function insertModelPrice(tx: Queryable, row: ModelPriceRow): Promise<void> {
  await insert(tx, 'model_prices', modelColumns, row);
}

export async function insertOrgPrice(tx: Queryable, row: OrgPriceRow): Promise<void> {
  await insert(tx, 'org_prices', orgColumns, row);
}

async function insert<Row extends PriceRow>(
  tx: Queryable,
  table: string,
  columns: readonly (keyof Row & string)[],
  { modifiers, units, ...others }: Row,
): Promise<void> {
  const row = { ...others, modifiers: jsonOf(modifiers), units: jsonOf(units) } as unknown as Row;
  await tx.query(
    `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map((_, index) => `$${index + 1}`).join()})`,
    columns.map((column) => row[column]),
  );
}

function jsonOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

export async function pricedModels(db: Queryable, models: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ model: string }>(
    'SELECT DISTINCT model FROM model_prices WHERE model = ANY($1)',
    [models],
  );
  return new Set(rows.map(({ model }) => model));
}

/** Returns the models for which an org has its own price at that time. */
export async function modelsWithOrgPrice(db: Queryable, at: Date): Promise<Set<string>> {
  const rows = await db.query<{ model: string }>(
    `SELECT DISTINCT model FROM org_prices
      WHERE (ended_at IS NULL OR ended_at > greatest(effective_from, $1)) AND effective_from <= $1`,
    [at],
  );
  return new Set(rows.map(({ model }) => model));
}

/**
 * Sets whether price updates may replace the version. Its rates never change, but an operator may take it over or return it to
 * price updates.
 */
export async function setFollowsUpdates(tx: Queryable, priceId: string, follows: boolean): Promise<void> {
  await tx.query('UPDATE model_prices SET follows_updates = $2 WHERE id = $1', [priceId, follows]);
}

/** Ends the version at its start, so that it is never in force. */
export async function withdrawModelPrice(tx: Queryable, priceId: string): Promise<void> {
  await tx.query('UPDATE model_prices SET ended_at = effective_from WHERE id = $1', [priceId]);
}

export async function withdrawOrgPrice(tx: Queryable, orgId: string, priceId: string): Promise<void> {
  await tx.query('UPDATE org_prices SET ended_at = effective_from WHERE org_id = $1 AND id = $2', [
    orgId,
    priceId,
  ]);
}

/** Ends all versions that have begun, including those before the one in force, and withdraws those that have not. */
export async function endOrgPrices(tx: Queryable, orgId: string, model: string, now: Date): Promise<void> {
  await tx.query(
    `UPDATE org_prices SET ended_at = greatest(effective_from, $3)
      WHERE org_id = $1 AND model = $2 AND ended_at IS NULL`,
    [orgId, model, now],
  );
}

/** SQL form of `shownAt`. Versions with an end are left out, because they were removed or replaced. */
const shownNow = (table: string, among: string) => `p.id = (
  SELECT v.id FROM ${table} v, (SELECT ?::timestamptz AS now) AS clock
   WHERE ${among} AND v.ended_at IS NULL
   ORDER BY v.effective_from <= clock.now DESC, abs(extract(epoch FROM v.effective_from - clock.now))
   LIMIT 1)`;

export async function listModelPrices(
  db: Queryable,
  query: ModelPriceFilters,
  now: Date,
): Promise<PageOf<ModelPriceRow>> {
  return selectPage<ModelPriceRow>(db, {
    select: `SELECT ${modelColumns.join()} FROM model_prices p`,
    where: [
      [shownNow('model_prices', 'v.model = p.model'), now],
      ['model = ?', query.model],
      ['provider = ?', query.provider],
    ],
    sorts: priceSorts,
    defaultSort: 'model',
    query,
  });
}

export async function listOrgPrices(
  db: Queryable,
  orgId: string,
  query: OrgPriceFilters,
  now: Date,
): Promise<PageOf<OrgPriceRow>> {
  return selectPage<OrgPriceRow>(db, {
    select: `SELECT ${orgColumns.join()} FROM org_prices p`,
    where: [
      ['org_id = ?', orgId],
      [shownNow('org_prices', 'v.org_id = p.org_id AND v.model = p.model'), now],
      ['model = ?', query.model],
    ],
    sorts: priceSorts,
    defaultSort: 'model',
    query,
  });
}

export interface ModelCapabilitiesRow {
  readonly model: string;
  readonly context_tokens: bigint | null;
  readonly max_output_tokens: bigint | null;
  readonly regions: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly updated_at: Date;
}

const capabilityColumns = 'model, context_tokens, max_output_tokens, regions, capabilities, updated_at';

export async function allModelCapabilities(db: Queryable): Promise<ModelCapabilitiesRow[]> {
  return db.query<ModelCapabilitiesRow>(`SELECT ${capabilityColumns} FROM model_facts`, []);
}

export const { find: findModelCapabilities, upsert: upsertModelCapabilities } =
  tableOf<ModelCapabilitiesRow>()('model_facts', { columns: capabilityColumns, key: ['model'] });

/** Inserts capabilities for models that have none. Returns the number of inserted rows. */
export async function insertFirstCapabilities(
  tx: Queryable,
  rows: readonly object[],
  now: Date,
): Promise<number> {
  const written = await tx.query(
    `INSERT INTO model_facts (${capabilityColumns})
     SELECT model, context_tokens, max_output_tokens, NULL, capabilities, $2
       FROM jsonb_to_recordset($1::jsonb)
            AS f(model text, context_tokens int8, max_output_tokens int8, capabilities text[])
     ON CONFLICT (model) DO NOTHING RETURNING model`,
    [JSON.stringify(rows), now],
  );
  return written.length;
}

/** Returns the time when the newest price was stored. Prices that come with a version count as stored when the database was created. */
export async function pricesStoredAt(db: Queryable): Promise<Date | null> {
  const [row] = await db.query<{ last: Date | null }>(
    `SELECT greatest((SELECT max(created_at) FROM model_prices), (SELECT min(applied_at) FROM schema_migrations)) AS last`,
    [],
  );
  return row?.last ?? null;
}
