/**
 * Inserts the models of the catalog at startup: prices and capabilities of every model without one, and names. What an
 * operator has set is never changed, nor is any price that exists, whether an operator or an earlier release set it.
 */
import { createHash } from 'node:crypto';
import { type Database, insertEach, type Transaction } from '../../../platform/db/database.ts';
import { createIds } from '../../../platform/ids.ts';
import { type Catalog, type CatalogModel, catalogStart, readCatalog, sourceOf } from './catalog.ts';
import { priceOf } from './catalog-price.ts';
import { hasCatalog } from './catalog-query.ts';
import { capabilitiesOf } from './list-prices.ts';
import { upsertCatalogNames } from './name-queries.ts';
import { priceColumnsOf } from './price-columns.ts';
import {
  allModels,
  insertFirstCapabilities,
  lockModels,
  type ModelPriceRow,
  modelPriceColumns,
  modelPricesChanged,
  pricedModels,
} from './queries.ts';
import type { PriceRequest } from './rates.ts';

interface SeedModel extends CatalogModel {
  readonly price: PriceRequest;
  /** Name of the price list, with its date. */
  readonly listed: string;
}

/** Inserts missing models. Several processes may start concurrently. Returns the number of inserted prices. */
export async function seedModels(db: Database, now: Date, catalog: Catalog = readCatalog()): Promise<number> {
  // At most starts nothing is missing, and the inserts take three times as long as this query.
  if (await hasCatalog(db, catalog)) {
    return 0;
  }
  const models = catalog.models.flatMap((one): SeedModel[] => {
    const price = priceOf(one);
    return price === undefined ? [] : [{ ...one, price, listed: sourceOf(catalog, one) }];
  });
  return db.transaction(async (tx) => {
    const inserted = await insertMissingPrices(tx, models);
    const described = await insertFirstCapabilities(tx, models.map(capabilitiesOf), now);
    const named = await upsertCatalogNames(tx, models, catalog.date, now);
    if (inserted + described + named > 0) {
      await modelPricesChanged.notify(tx, allModels);
    }
    return inserted;
  });
}

async function insertMissingPrices(tx: Transaction, models: readonly SeedModel[]): Promise<number> {
  const missing = await withoutPrice(tx, models);
  if (missing.length === 0) {
    return 0;
  }
  await lockModels(
    tx,
    missing.map(({ model }) => model),
  );
  // Checked again, because another process may have inserted some prices before this one got the locks.
  const rows = (await withoutPrice(tx, missing)).map(rowOf);
  await insertEach(tx, 'model_prices', modelPriceColumns, rows, (row) => row);
  return rows.length;
}

async function withoutPrice(tx: Transaction, models: readonly SeedModel[]): Promise<SeedModel[]> {
  const there = await pricedModels(
    tx,
    models.map(({ model }) => model),
  );
  return models.filter(({ model }) => !there.has(model));
}

function rowOf({ provider, model, price, listed: source }: SeedModel): ModelPriceRow {
  return {
    id: idOf(model),
    model,
    provider,
    ...priceColumnsOf(price),
    effective_from: catalogStart,
    ended_at: null,
    created_at: catalogStart,
    follows_updates: true,
    source,
  };
}

/** Deterministic, so that the id of a price of the catalog is the same in every installation. */
function idOf(model: string): string {
  const digest = createHash('sha256').update(model).digest();
  return createIds({ now: () => catalogStart }, (size) => digest.subarray(0, size)).next('prc');
}
