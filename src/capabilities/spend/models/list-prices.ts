/** List prices for price updates: the version in force by name, and the insertion of many versions at once. */
import { insertEach, type Queryable, type Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { makeRoom, versionsMax } from './models.ts';
import { mostExpensive } from './most-expensive.ts';
import { addCatalogNames, allModelNames } from './name-queries.ts';
import { createNameResolution } from './name-resolution.ts';
import { priceColumnsOf } from './price-columns.ts';
import {
  allModels,
  allModelVersions,
  insertFirstCapabilities,
  type ModelPriceRow,
  modelPriceColumns,
  modelPricesChanged,
  modelsWithOrgPrice,
  withdrawModelPrice,
} from './queries.ts';
import { type PriceRequest, ratesOf } from './rates.ts';
import { inForceAt } from './versions.ts';

/** The list prices in force at an instant. */
export interface ListPrices {
  readonly at: Date;
  /** The versions of the model, latest first. */
  versionsOf(model: string): readonly ModelPriceRow[];
  /** Returns the version in force of exactly this model. */
  exact(model: string): ModelPriceRow | undefined;
  /** Returns the version in force of another model that the name resolves to. */
  resolved(name: string): ModelPriceRow | undefined;
  /** Returns true if an operator gave some org its own price for this model. */
  hasOrgPrice(model: string): boolean;
}

export async function loadListPrices(db: Queryable, at: Date): Promise<ListPrices> {
  const versions = new Map<string, ModelPriceRow[]>();
  for (const row of await allModelVersions(db)) {
    const others = versions.get(row.model);
    if (others === undefined) {
      versions.set(row.model, [row]);
    } else {
      others.push(row);
    }
  }
  const names = createNameResolution(await allModelNames(db), () => versions.keys());
  const ofOrgs = await modelsWithOrgPrice(db, at);
  const versionsOf = (model: string) => versions.get(model) ?? [];
  const exact = (model: string) => inForceAt(versionsOf(model), at.getTime());
  return {
    at,
    versionsOf,
    exact,
    resolved(name) {
      for (const candidate of names.otherModels(name)) {
        const rows = [candidate].flat().flatMap((model) => exact(model) ?? []);
        if (rows.length > 0) {
          return mostExpensive(rows, ratesOf);
        }
      }
      return undefined;
    },
    hasOrgPrice: (model) => ofOrgs.has(model),
  };
}

/** Returns true if another version of the model can be stored. */
export function hasRoom(prices: ListPrices, model: string): boolean {
  return prices.versionsOf(model).length < versionsMax;
}

export interface NewListPrice {
  readonly model: string;
  readonly provider: string | null;
  readonly price: PriceRequest;
  readonly source: string;
}

/** Inserts a version of each model that starts at `prices.at`, and withdraws those with the same start. The caller must hold the locks. */
export async function insertListPrices(
  tx: Transaction,
  ids: Ids,
  now: Date,
  prices: ListPrices,
  added: readonly NewListPrice[],
): Promise<ModelPriceRow[]> {
  const rows = added.map(
    ({ model, provider, price, source }): ModelPriceRow => ({
      id: ids.next('prc'),
      model,
      provider,
      ...priceColumnsOf(price),
      effective_from: prices.at,
      ended_at: null,
      created_at: now,
      follows_updates: true,
      source,
    }),
  );
  for (const { model } of rows) {
    await makeRoom(prices.versionsOf(model), prices.at, ({ id }) => withdrawModelPrice(tx, id));
  }
  await insertEach(tx, 'model_prices', modelPriceColumns, rows, (row) => row);
  if (rows.length > 0) {
    await modelPricesChanged.notify(tx, allModels);
  }
  return rows;
}

/** A model as a price list describes it. */
export interface DescribedModel {
  readonly model: string;
  readonly aliases?: readonly string[];
  readonly patterns?: readonly string[];
  readonly context_tokens?: number;
  readonly max_output_tokens?: number;
  readonly capabilities?: readonly string[];
}

/** Stores capabilities of models that have none, and adds names to those of the catalog. */
export async function describeModels(
  tx: Transaction,
  now: Date,
  date: string,
  models: readonly DescribedModel[],
): Promise<void> {
  const described = await insertFirstCapabilities(tx, models.map(capabilitiesOf), now);
  const named = await addCatalogNames(tx, models, date, now);
  if (described + named > 0) {
    await modelPricesChanged.notify(tx, allModels);
  }
}

/** Returns the capabilities. Regions stay unknown, because they depend on the operator's contract with the provider. */
export function capabilitiesOf({ model, context_tokens, max_output_tokens, capabilities }: DescribedModel) {
  return {
    model,
    context_tokens: context_tokens ?? null,
    max_output_tokens: max_output_tokens ?? null,
    capabilities: capabilities ?? null,
  };
}
