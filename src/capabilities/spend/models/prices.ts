/**
 * Finds the price that holds for an org, a model and an instant, from a cache.
 *
 * Every decision without a given cost needs a price, so it is returned without a promise once the prices of the models
 * and the org are cached. While change notifications may be missed the cache is bypassed.
 */
import { discountedTariff, type Tariff } from '../../../kernel/rate-modifiers.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { allModelNames } from './name-queries.ts';
import { createNameResolution, type NameResolution, type NameStep } from './name-resolution.ts';
import { tariffOf } from './price-columns.ts';
import {
  allModels,
  allModelVersions,
  allOrgVersions,
  type ModelPriceRow,
  modelPricesChanged,
  type OrgPriceRow,
  orgPricesChanged,
  versionsOfModels,
  versionsOfOrgModels,
} from './queries.ts';
import type { OnUnpriced } from './schema.ts';
import { inForceAt, type Version } from './versions.ts';

const cachedOrgsMax = 10_000;

export interface PriceInForce extends Tariff {
  /** The id that runs store as their price version: `prc_…`, with a discount `prc_…+prc_…`. */
  readonly versionId: string;
  /** The model whose price this is. Callers may have requested it by another name. Null with `unpriced`. */
  readonly model: string | null;
  /** Set if the model has no price: the rates are the default rates of the org, or all zero. */
  readonly unpriced?: Exclude<OnUnpriced, 'refuse'>;
}

export interface ListedPrice extends PriceInForce {
  readonly model: string;
  readonly provider: string | null;
  readonly source: 'model' | 'org' | 'discount';
  /** Null if no discount applies. */
  readonly discountBasisPoints: number | null;
}

export interface Prices {
  /**
   * Resolves the name and returns the price; undefined if there is none at that time. Returns a promise only if prices must be
   * loaded first.
   */
  find(orgId: string, name: string, atMs: number): ListedPrice | undefined | Promise<ListedPrice | undefined>;
  /** Like `find`, and returns the steps that were tried. */
  resolve(orgId: string, name: string, atMs: number): Promise<Resolution>;
  /**
   * Returns the price version that a run or decision references, even if it is no longer in force. Undefined if it is not a
   * version of a model that the name may mean.
   */
  version(orgId: string, name: string, versionId: string): Promise<PriceInForce | undefined>;
  /** Returns all models that have a price for the org at that time, unordered. */
  list(orgId: string, atMs: number): Promise<ListedPrice[]>;
}

export interface ResolutionStep {
  readonly step: NameStep | 'org_price';
  readonly name: string;
  readonly model: string | null;
  readonly matched: boolean;
}

export interface Resolution {
  readonly price: ListedPrice | undefined;
  readonly steps: readonly ResolutionStep[];
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

/** The list prices of all models, and their names. */
interface ModelPrices {
  readonly history: ModelPriceHistory;
  readonly names: NameResolution;
}

export function createPrices(db: Database): Prices {
  const models = new NotifiedCache(db, {
    maxEntries: 1,
    onChange: modelPricesChanged.on,
    load: loadModels,
  });
  const orgs = new NotifiedCache(db, {
    maxEntries: cachedOrgsMax,
    onChange: orgPricesChanged.on,
    load: async (orgId) => priceHistoryOf(await allOrgVersions(db, orgId), orgVersion),
  });

  async function loadModels(): Promise<ModelPrices> {
    const history = priceHistoryOf(await allModelVersions(db), modelVersion);
    return { history, names: createNameResolution(await allModelNames(db)) };
  }

  /** Queries the versions of the models that the name may mean only; the caches load those of all models. */
  async function findInDatabase(orgId: string, name: string, atMs: number) {
    const exact = await findAmong(orgId, [name], atMs);
    if (exact !== undefined) {
      return exact;
    }
    const names = createNameResolution(await allModelNames(db));
    return findAmong(orgId, names.otherModels(name), atMs);
  }

  async function findAmong(orgId: string, models: readonly string[], atMs: number) {
    const history = priceHistoryOf(await versionsOfModels(db, models), modelVersion);
    const own = priceHistoryOf(await versionsOfOrgModels(db, orgId, models), orgVersion);
    return firstPrice(history, own, models, atMs);
  }

  async function loadPrices(orgId: string): Promise<readonly [ModelPrices, OrgPriceHistory]> {
    return Promise.all([models.get(allModels), orgs.get(orgId)]);
  }

  return {
    find(orgId, name, atMs) {
      const listed = models.peek(allModels);
      const own = orgs.peek(orgId);
      if (listed !== undefined && own !== undefined) {
        return resolvedPrice(listed, own, name, atMs);
      }
      // While the caches are bypassed, loading all prices for each decision would be expensive.
      return db.notificationsHealthy()
        ? loadPrices(orgId).then(([all, orgPrices]) => resolvedPrice(all, orgPrices, name, atMs))
        : findInDatabase(orgId, name, atMs);
    },

    async resolve(orgId, name, atMs) {
      return explainedPrice(...(await loadPrices(orgId)), name, atMs);
    },

    async version(orgId, name, versionId) {
      const [{ history, names }, orgHistory] = await loadPrices(orgId);
      const ids = versionId.split('+');
      for (const model of [name, ...names.otherModels(name)]) {
        const price = history.get(model)?.find(({ id }) => ids.includes(id))?.price;
        const own = orgHistory.get(model)?.find(({ id }) => ids.includes(id));
        const named = own === undefined ? price : own.applyTo(price);
        if (named?.versionId === versionId) {
          return named;
        }
      }
      return undefined;
    },

    async list(orgId, atMs) {
      const [{ history }, orgHistory] = await loadPrices(orgId);
      const models = new Set([...history.keys(), ...orgHistory.keys()]);
      return [...models].flatMap((model) => inForce(history, orgHistory, model, atMs) ?? []);
    },
  };
}

function resolvedPrice(
  { history, names }: ModelPrices,
  org: OrgPriceHistory,
  name: string,
  atMs: number,
): ListedPrice | undefined {
  const exact = inForce(history, org, name, atMs);
  if (exact !== undefined) {
    return exact;
  }
  return firstPrice(history, org, names.otherModels(name), atMs);
}

function firstPrice(
  history: ModelPriceHistory,
  org: OrgPriceHistory,
  models: readonly string[],
  atMs: number,
): ListedPrice | undefined {
  for (const model of models) {
    const price = inForce(history, org, model, atMs);
    if (price !== undefined) {
      return price;
    }
  }
  return undefined;
}

/** Takes the same steps as `resolvedPrice`. */
function explainedPrice(
  { history, names }: ModelPrices,
  org: OrgPriceHistory,
  name: string,
  atMs: number,
): Resolution {
  const steps: ResolutionStep[] = [];
  const own = inForce(history, org, name, atMs);
  const isOwn = own !== undefined && own.source !== 'model';
  steps.push({ step: 'org_price', name, model: isOwn ? name : null, matched: isOwn });
  if (isOwn) {
    return { price: own, steps };
  }
  for (const candidate of names.candidates(name)) {
    const price = candidate.model === null ? undefined : inForce(history, org, candidate.model, atMs);
    steps.push({ ...candidate, matched: price !== undefined });
    if (price !== undefined) {
      return { price, steps };
    }
  }
  return { price: undefined, steps };
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
    ...tariffOf(row),
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
  const tariff = tariffOf(row);
  return (price) => ({
    versionId: row.id,
    ...tariff,
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
      ...discountedTariff(price, BigInt(discountBasisPoints)),
      source: 'discount',
      discountBasisPoints,
    };
}
