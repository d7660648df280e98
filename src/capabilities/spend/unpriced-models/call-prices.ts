/**
 * Finds the price at which a call is held and charged. For a model without a price, the org's policy provides one: the default
 * rates, or rates of zero. All code that admits or charges calls uses this. Code that compares or corrects costs uses real prices
 * only (`Prices.find`).
 */
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import type { Rates } from '../../../kernel/prices.ts';
import type { Tariff } from '../../../kernel/rate-modifiers.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { type PriceInForce, type Prices, ratesOf, type UnpricedPolicy } from '../models/index.ts';
import {
  findUnpricedPolicy,
  findUnpricedPolicyVersion,
  type UnpricedPolicyRow,
  unpricedPolicyChanged,
} from './queries.ts';

const cachedOrgsMax = 10_000;

export interface CallPrices extends Prices {
  /**
   * Finds a price like `find`. If the model has none, returns the price of the org's policy; undefined if the call must be refused.
   * Returns a promise only if prices or the policy must be loaded.
   */
  findForCall(
    orgId: string,
    name: string,
    atMs: number,
    at?: CalledAt,
  ): PriceInForce | undefined | Promise<PriceInForce | undefined>;
  unpricedPolicy(orgId: string): UnpricedPolicy | Promise<UnpricedPolicy>;
}

const versionPrefix = 'upr_';

/** Returns true for the price version of a run that was charged at its org's default rates. */
export function isDefaultRates(priceVersion: string): boolean {
  return priceVersion.startsWith(versionPrefix);
}

/** Creates the lookup. `prices` are those of models. Policies are cached for orgs that call models without a price. */
export function createCallPrices(db: Database, prices: Prices): CallPrices {
  const policies = new NotifiedCache(db, {
    maxEntries: cachedOrgsMax,
    onChange: unpricedPolicyChanged.on,
    load: async (orgId) => policyOf(await findUnpricedPolicy(db, orgId)),
  });

  function priceOfPolicy(orgId: string): PriceInForce | undefined | Promise<PriceInForce | undefined> {
    const policy = policies.get(orgId);
    return policy instanceof Promise ? policy.then(({ price }) => price) : policy.price;
  }

  return {
    ...prices,
    findForCall(orgId, name, atMs, at) {
      const found = prices.find(orgId, name, atMs, at);
      return found instanceof Promise
        ? found.then((price) => price ?? priceOfPolicy(orgId))
        : (found ?? priceOfPolicy(orgId));
    },
    unpricedPolicy: (orgId) => policies.get(orgId),
    async version(orgId, name, versionId, at) {
      return isDefaultRates(versionId)
        ? policyOf(await findUnpricedPolicyVersion(db, orgId, versionId)).price
        : prices.version(orgId, name, versionId, at);
    },
  };
}

function policyOf(row: UnpricedPolicyRow | undefined): UnpricedPolicy {
  if (row === undefined || row.on_unpriced === 'refuse') {
    return { onUnpriced: 'refuse', price: undefined };
  }
  const { id: versionId, on_unpriced: unpriced } = row;
  const rates = unpriced === 'record' ? free : ratesOf(row);
  return { onUnpriced: unpriced, price: { ...tariffOf(rates), versionId, model: null, unpriced } };
}

/** Returns default rates as a tariff. There are no default rates for units, so units are free instead of an error. */
function tariffOf(rates: Rates): Tariff {
  return { rates, modifiers: [], unitNanos: new Map<string, bigint>(), hasFreeUnits: true };
}

const free: Rates = {
  inputNanosPerMillion: 0n,
  cachedInputNanosPerMillion: null,
  cachedImageInputNanosPerMillion: null,
  cacheWriteNanosPerMillion: null,
  outputNanosPerMillion: null,
  audioInputNanosPerMillion: null,
  imageInputNanosPerMillion: null,
  audioOutputNanosPerMillion: null,
  imageNanosEach: null,
  requestNanosEach: null,
};

/** The price of a run that is recorded although its model has no price, regardless of the org's policy. */
export const unpricedAtNoCost: PriceInForce = {
  ...tariffOf(free),
  versionId: '',
  model: null,
  unpriced: 'record',
};
