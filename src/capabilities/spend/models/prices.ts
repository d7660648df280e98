/**
 * Finds the price that holds for an org, a model and an instant, from a cache.
 *
 * Every decision without a given cost needs a price, so it is returned without a promise once the prices of the models
 * and the org are cached. While change notifications may be missed the cache is bypassed.
 */
import { discounted, type Rates } from '../../../kernel/prices.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { onModelPriceChange, onOrgPriceChange } from './change-notifications.ts';
import {
  allModelVersions,
  allOrgVersions,
  type ModelPriceRow,
  modelVersions,
  type OrgPriceRow,
  orgVersions,
} from './queries.ts';
import { ratesOf } from './rates.ts';
import { inForceAt, type Version } from './versions.ts';

const cachedOrgsMax = 10_000;

export interface PriceInForce {
  /** The id that runs store as their price version: `prc_…`, with a discount `prc_…+prc_…`. */
  readonly versionId: string;
  readonly rates: Rates;
}

export interface ListedPrice extends PriceInForce {
  readonly model: string;
  readonly provider: string | null;
  readonly source: 'model' | 'org' | 'discount';
  /** Null if no discount applies. */
  readonly discountBasisPoints: number | null;
}

export interface Prices {
  /** Returns undefined if the model has no price at that time; a promise only if prices must be loaded first. */
  find(
    orgId: string,
    model: string,
    atMs: number,
  ): PriceInForce | undefined | Promise<PriceInForce | undefined>;
  /** Returns the price version that a run or decision references, even if it is no longer in force. */
  version(orgId: string, model: string, versionId: string): Promise<PriceInForce | undefined>;
  /** Returns all models that have a price for the org at that time, unordered. */
  list(orgId: string, atMs: number): Promise<ListedPrice[]>;
}

interface ModelVersion extends Version {
  readonly price: ListedPrice;
}

interface OrgVersion extends Version {
  /** `price` is the list price; if there is none, only custom rates yield a price. */
  applyTo(price: ListedPrice | undefined): ListedPrice | undefined;
}

type PriceHistory<Entry> = ReadonlyMap<string, readonly Entry[]>;
type ModelPriceHistory = PriceHistory<ModelVersion>;
type OrgPriceHistory = PriceHistory<OrgVersion>;

const everything = '';

export function createPrices(db: Database): Prices {
  const models = new NotifiedCache(db, {
    maxEntries: 1,
    onChange: (_, listener) => onModelPriceChange(db, () => listener(null)),
    load: async () => priceHistoryOf(await allModelVersions(db), modelVersion),
  });
  const orgs = new NotifiedCache(db, {
    maxEntries: cachedOrgsMax,
    onChange: onOrgPriceChange,
    load: async (orgId) => priceHistoryOf(await allOrgVersions(db, orgId), orgVersion),
  });

  /** Queries the versions of one model only; the caches load those of all models. */
  async function findInDatabase(orgId: string, model: string, atMs: number) {
    const modelRows = await modelVersions(db, model);
    const orgRows = await orgVersions(db, orgId, model);
    return inForce(priceHistoryOf(modelRows, modelVersion), priceHistoryOf(orgRows, orgVersion), model, atMs);
  }

  async function priceHistories(orgId: string): Promise<readonly [ModelPriceHistory, OrgPriceHistory]> {
    return Promise.all([models.get(everything), orgs.get(orgId)]);
  }

  return {
    find(orgId, model, atMs) {
      const modelHistory = models.peek(everything);
      const orgHistory = orgs.peek(orgId);
      if (modelHistory !== undefined && orgHistory !== undefined) {
        return inForce(modelHistory, orgHistory, model, atMs);
      }
      // While the caches are bypassed, loading all prices for each decision would be expensive.
      return db.notificationsHealthy()
        ? priceHistories(orgId).then(([all, own]) => inForce(all, own, model, atMs))
        : findInDatabase(orgId, model, atMs);
    },

    async version(orgId, model, versionId) {
      const [modelHistory, orgHistory] = await priceHistories(orgId);
      const ids = versionId.split('+');
      const price = modelHistory.get(model)?.find(({ id }) => ids.includes(id))?.price;
      const own = orgHistory.get(model)?.find(({ id }) => ids.includes(id));
      const named = own === undefined ? price : own.applyTo(price);
      return named?.versionId === versionId ? named : undefined;
    },

    async list(orgId, atMs) {
      const [modelHistory, orgHistory] = await priceHistories(orgId);
      const names = new Set([...modelHistory.keys(), ...orgHistory.keys()]);
      return [...names].flatMap((model) => inForce(modelHistory, orgHistory, model, atMs) ?? []);
    },
  };
}

function inForce(
  models: ModelPriceHistory,
  org: OrgPriceHistory,
  model: string,
  atMs: number,
): ListedPrice | undefined {
  const price = inForceAt(models.get(model) ?? [], atMs)?.price;
  const own = inForceAt(org.get(model) ?? [], atMs);
  return own === undefined ? price : own.applyTo(price);
}

/** Groups versions by model. The rows are ordered latest first, and so are the versions of each model. */
function priceHistoryOf<Row extends { readonly model: string }, Entry>(
  rows: readonly Row[],
  entry: (row: Row) => Entry,
): PriceHistory<Entry> {
  const history = new Map<string, Entry[]>();
  for (const row of rows) {
    const entries = history.get(row.model) ?? [];
    entries.push(entry(row));
    history.set(row.model, entries);
  }
  return history;
}

function modelVersion(row: ModelPriceRow): ModelVersion {
  const { id, model, provider, effective_from, ended_at } = row;
  const price: ListedPrice = {
    versionId: id,
    rates: ratesOf(row),
    model,
    provider,
    source: 'model',
    discountBasisPoints: null,
  };
  return { id, effective_from, ended_at, price };
}

function orgVersion(row: OrgPriceRow): OrgVersion {
  const { id, effective_from, ended_at } = row;
  const make =
    row.discount_basis_points === null ? ownPrice(row) : reducedPrice(id, row.discount_basis_points);
  // Caches the last result: decisions call this, nearly always with the same list price.
  let last: { readonly of: ListedPrice | undefined; readonly is: ListedPrice | undefined } | undefined;
  return {
    id,
    effective_from,
    ended_at,
    applyTo(price) {
      if (last === undefined || last.of !== price) {
        last = { of: price, is: make(price) };
      }
      return last.is;
    },
  };
}

function ownPrice(row: OrgPriceRow): OrgVersion['applyTo'] {
  const rates = ratesOf(row);
  return (price) => ({
    versionId: row.id,
    rates,
    model: row.model,
    provider: price?.provider ?? null,
    source: 'org',
    discountBasisPoints: null,
  });
}

function reducedPrice(id: string, discountBasisPoints: number): OrgVersion['applyTo'] {
  return (price) =>
    price && {
      ...price,
      versionId: `${price.versionId}+${id}`,
      rates: discounted(price.rates, BigInt(discountBasisPoints)),
      source: 'discount',
      discountBasisPoints,
    };
}
