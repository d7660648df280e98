/**
 * Finds the price that holds for an org, a model and an instant, from a cache.
 *
 * Every decision needs a price, so it is returned without a promise once the prices of the models and the org are
 * cached. While change notifications may be missed the cache is bypassed.
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
import { holdsAt, type Version } from './versions.ts';

const cachedOrgsMax = 10_000;

export interface PriceInForce {
  /** What a priced run names, also after the price has changed: `prc_…`, with a discount `prc_…+prc_…`. */
  readonly versionId: string;
  readonly rates: Rates;
}

export interface ListedPrice extends PriceInForce {
  readonly model: string;
  readonly provider: string | null;
  readonly source: 'model' | 'org' | 'discount';
  /** Null without a discount. */
  readonly discountBasisPoints: number | null;
}

export interface Prices {
  /** Undefined where the model has no price then. A promise only where something has to be read first. */
  find(
    orgId: string,
    model: string,
    atMs: number,
  ): PriceInForce | undefined | Promise<PriceInForce | undefined>;
  /** The price that a run or a decision has named, whatever holds by now. */
  version(orgId: string, model: string, versionId: string): Promise<PriceInForce | undefined>;
  /** Every model that has a price for the org then, in no order. */
  list(orgId: string, atMs: number): Promise<ListedPrice[]>;
}

interface ModelVersion extends Version {
  readonly price: ListedPrice;
}

interface OrgVersion extends Version {
  /** The model's price is undefined where it has none, which only rates of the org's own can do without. */
  applyTo(price: ListedPrice | undefined): ListedPrice | undefined;
}

type Book<Entry> = ReadonlyMap<string, readonly Entry[]>;
type ModelBook = Book<ModelVersion>;
type OrgBook = Book<OrgVersion>;

const everything = '';

export function createPrices(db: Database): Prices {
  const models = new NotifiedCache(db, {
    maxEntries: 1,
    onChange: (_, listener) => onModelPriceChange(db, () => listener(null)),
    load: async () => bookOf(await allModelVersions(db), modelVersion),
  });
  const orgs = new NotifiedCache(db, {
    maxEntries: cachedOrgsMax,
    onChange: onOrgPriceChange,
    load: async (orgId) => bookOf(await allOrgVersions(db, orgId), orgVersion),
  });

  /** Reads the versions of one model only, unlike the caches. */
  async function findInDatabase(orgId: string, model: string, atMs: number) {
    const modelRows = await modelVersions(db, model);
    const orgRows = await orgVersions(db, orgId, model);
    return inForce(bookOf(modelRows, modelVersion), bookOf(orgRows, orgVersion), model, atMs);
  }

  async function booksOf(orgId: string): Promise<readonly [ModelBook, OrgBook]> {
    return Promise.all([models.get(everything), orgs.get(orgId)]);
  }

  return {
    find(orgId, model, atMs) {
      const modelBook = models.peek(everything);
      const orgBook = orgs.peek(orgId);
      if (modelBook !== undefined && orgBook !== undefined) {
        return inForce(modelBook, orgBook, model, atMs);
      }
      // While the caches are bypassed, loading all prices for each decision would be expensive.
      return db.notificationsHealthy()
        ? booksOf(orgId).then(([all, own]) => inForce(all, own, model, atMs))
        : findInDatabase(orgId, model, atMs);
    },

    async version(orgId, model, versionId) {
      const [modelBook, orgBook] = await booksOf(orgId);
      const ids = versionId.split('+');
      const price = modelBook.get(model)?.find(({ id }) => ids.includes(id))?.price;
      const own = orgBook.get(model)?.find(({ id }) => ids.includes(id));
      const named = own === undefined ? price : own.applyTo(price);
      return named?.versionId === versionId ? named : undefined;
    },

    async list(orgId, atMs) {
      const [modelBook, orgBook] = await booksOf(orgId);
      const names = new Set([...modelBook.keys(), ...orgBook.keys()]);
      return [...names].flatMap((model) => inForce(modelBook, orgBook, model, atMs) ?? []);
    },
  };
}

function inForce(models: ModelBook, org: OrgBook, model: string, atMs: number): ListedPrice | undefined {
  const price = holdsAt(models.get(model) ?? [], atMs)?.price;
  const own = holdsAt(org.get(model) ?? [], atMs);
  return own === undefined ? price : own.applyTo(price);
}

/** The rows stand latest first, and so does each model's part of them. */
function bookOf<Row extends { readonly model: string }, Entry>(
  rows: readonly Row[],
  entry: (row: Row) => Entry,
): Book<Entry> {
  const book = new Map<string, Entry[]>();
  for (const row of rows) {
    const entries = book.get(row.model) ?? [];
    entries.push(entry(row));
    book.set(row.model, entries);
  }
  return book;
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
  // It is asked for at every decision, nearly always of the same price.
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
