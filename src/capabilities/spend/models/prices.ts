/**
 * Finds the price for an org, a model and a time, from a cache. Every decision without a given cost needs a price, so it is
 * returned synchronously once the prices of the models and the org are cached. The cache is bypassed while change notifications may
 * have been missed.
 */
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import { hostOfName } from '../../../kernel/model-names.ts';
import { discountedTariff, type Tariff } from '../../../kernel/rate-modifiers.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { followsUpdates } from './models.ts';
import { mostExpensive } from './most-expensive.ts';
import { allModelNames } from './name-queries.ts';
import {
  createNameResolution,
  type MeantModel,
  type NameResolution,
  type NameStep,
} from './name-resolution.ts';
import { tariffOf } from './price-columns.ts';
import {
  allModels,
  allModelVersions,
  allOrgVersions,
  type ModelPriceRow,
  modelPricesChanged,
  namesOfModels,
  type OrgPriceRow,
  orgPricesChanged,
  versionsOfModels,
  versionsOfOrgModels,
} from './queries.ts';
import type { OnUnpriced } from './schema.ts';
import { inForceAt, type Version } from './versions.ts';

const cachedOrgsMax = 10_000;

export interface PriceInForce extends Tariff {
  /** Id that runs store as their price version: `prc_…`, or with a discount `prc_…+prc_…`. */
  readonly versionId: string;
  /** The model that has this price. Callers may have requested it by another name. Null with `unpriced`. */
  readonly model: string | null;
  /** Set if the model has no price. The rates are then the org's default rates, or all zero. */
  readonly unpriced?: Exclude<OnUnpriced, 'refuse'>;
}

export interface ListedPrice extends PriceInForce {
  readonly model: string;
  readonly provider: string | null;
  readonly source: 'model' | 'org' | 'discount';
  /** Null if no discount applies. */
  readonly discountBasisPoints: number | null;
  /** The host that the name of the model has a prefix of; null: none. */
  readonly host: string | null;
  /** True if a price list has set it, and not an operator or an org. */
  readonly isListed: boolean;
}

/** Returns true for a price that an org has of its own: custom rates or a discount. */
export function isOrgPrice(price: PriceInForce): boolean {
  return 'source' in price && (price.source === 'org' || price.source === 'discount');
}

export interface Prices {
  /**
   * Resolves the name and returns the price; undefined if there is none at that time. Returns a promise only if prices must be
   * loaded. `at` is the place of the call, because hosts and regions have their own prices.
   */
  find(
    orgId: string,
    name: string,
    atMs: number,
    at?: CalledAt,
  ): ListedPrice | undefined | Promise<ListedPrice | undefined>;
  /** Finds a price like `find`, and also returns the steps that were tried. */
  resolve(orgId: string, name: string, atMs: number, at?: CalledAt): Promise<Resolution>;
  /**
   * Returns the price version that a run or decision references, even if it is no longer in force. Returns undefined if it does not
   * belong to a model that the name may mean.
   */
  version(orgId: string, name: string, versionId: string, at?: CalledAt): Promise<PriceInForce | undefined>;
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
  /** Returns the price for the org. `price` is the list price; without one, only custom rates yield a price. */
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
    return { history, names: createNameResolution(await allModelNames(db), () => history.keys()) };
  }

  /** Finds a price with queries for only those models that the name may mean. The caches would load the versions of all models. */
  async function findInDatabase(orgId: string, name: string, atMs: number, at: CalledAt | undefined) {
    const exact = await pricesOf(orgId, [name]);
    const exactPrice = inForce(exact.history, exact.org, name, atMs);
    if (exactPrice !== undefined && at?.provider == null) {
      return exactPrice;
    }
    const models = await namesOfModels(db);
    const names = createNameResolution(await allModelNames(db), () => models);
    const candidates = [...(names.modelsAt(name, at ?? nowhere) ?? []), ...names.otherModels(name)];
    const { history, org } = await pricesOf(orgId, [name, ...candidates.flat()]);
    return resolvedPrice({ history, names }, org, name, atMs, at);
  }

  async function pricesOf(orgId: string, models: readonly string[]) {
    return {
      history: priceHistoryOf(await versionsOfModels(db, models), modelVersion),
      org: priceHistoryOf(await versionsOfOrgModels(db, orgId, models), orgVersion),
    };
  }

  async function loadPrices(orgId: string): Promise<readonly [ModelPrices, OrgPriceHistory]> {
    return Promise.all([models.get(allModels), orgs.get(orgId)]);
  }

  return {
    find(orgId, name, atMs, at) {
      const listed = models.peek(allModels);
      const own = orgs.peek(orgId);
      if (listed !== undefined && own !== undefined) {
        return resolvedPrice(listed, own, name, atMs, at);
      }
      // The caches are not used while they are bypassed, because each decision would load all prices.
      return db.notificationsHealthy()
        ? loadPrices(orgId).then(([all, orgPrices]) => resolvedPrice(all, orgPrices, name, atMs, at))
        : findInDatabase(orgId, name, atMs, at);
    },

    async resolve(orgId, name, atMs, at) {
      return explainedPrice(...(await loadPrices(orgId)), name, atMs, at);
    },

    async version(orgId, name, versionId, at = nowhere) {
      const [{ history, names }, orgHistory] = await loadPrices(orgId);
      const ids = versionId.split('+');
      const models = [name, ...(names.modelsAt(name, at) ?? []), ...names.otherModels(name)];
      for (const model of new Set(models.flat())) {
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

const nowhere: CalledAt = {};

/** Returns the price for a name. A price that an operator or the org set for exactly this name applies at every host. */
function resolvedPrice(
  { history, names }: ModelPrices,
  org: OrgPriceHistory,
  name: string,
  atMs: number,
  at: CalledAt | undefined,
): ListedPrice | undefined {
  const exact = inForce(history, org, name, atMs);
  if (exact !== undefined && (at?.provider == null || !exact.isListed)) {
    return exact;
  }
  const hosted = at && names.modelsAt(name, at);
  return (
    (hosted && firstPrice(history, org, hosted, atMs)) ??
    exact ??
    firstPrice(history, org, names.otherModels(name), atMs)
  );
}

function firstPrice(
  history: ModelPriceHistory,
  org: OrgPriceHistory,
  candidates: readonly MeantModel[],
  atMs: number,
): ListedPrice | undefined {
  for (const candidate of candidates) {
    const price = candidatePrice(history, org, candidate, atMs);
    if (price !== undefined) {
      return price;
    }
  }
  return undefined;
}

function candidatePrice(
  history: ModelPriceHistory,
  org: OrgPriceHistory,
  candidate: MeantModel,
  atMs: number,
): ListedPrice | undefined {
  return typeof candidate === 'string'
    ? inForce(history, org, candidate, atMs)
    : mostExpensive(
        candidate.flatMap((model) => inForce(history, org, model, atMs) ?? []),
        ({ rates }) => rates,
      );
}

/** Returns the price and the steps to it. The steps are those of `resolvedPrice`. */
function explainedPrice(
  { history, names }: ModelPrices,
  org: OrgPriceHistory,
  name: string,
  atMs: number,
  at: CalledAt | undefined,
): Resolution {
  const steps: ResolutionStep[] = [];
  const own = inForce(history, org, name, atMs);
  const isOwn = own !== undefined && own.source !== 'model';
  steps.push({ step: 'org_price', name, model: isOwn ? name : null, matched: isOwn });
  if (isOwn) {
    return { price: own, steps };
  }
  const isSet = own !== undefined && !own.isListed;
  for (const { model, ...candidate } of names.candidates(name, isSet ? undefined : at)) {
    const price = model === null ? undefined : candidatePrice(history, org, model, atMs);
    const shown = typeof model === 'string' ? model : (price?.model ?? null);
    steps.push({ ...candidate, model: shown, matched: price !== undefined });
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

/** Groups versions by model. The rows are sorted latest first, so the versions of each model are too. */
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
    host: hostOfName(model),
    isListed: followsUpdates(row),
  };
  return { id, effective_from, ended_at, price };
}

function orgVersion(row: OrgPriceRow): OrgVersion {
  const { id, effective_from, ended_at } = row;
  const make =
    row.discount_basis_points === null ? ownPrice(row) : reducedPrice(id, row.discount_basis_points);
  // Cached last result, because decisions nearly always pass the same list price.
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
    host: price?.host ?? hostOfName(row.model),
    isListed: false,
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
      isListed: false,
    };
}
