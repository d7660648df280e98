/**
 * The last price that was found for each org and model, for decisions while the database is unavailable: the cache of prices
 * is bypassed then.
 */
import type { Price } from './decision.ts';

type FindPrice = (
  orgId: string,
  model: string,
  atMs: number,
) => Price | undefined | Promise<Price | undefined>;

const pricesMax = 10_000;

export interface LastKnownPrices {
  /** Like the given function, and stores its result. */
  readonly find: FindPrice;
  get(orgId: string, model: string): Price | undefined;
}

export function createLastKnownPrices(findPrice: FindPrice): LastKnownPrices {
  const prices = new Map<string, Price>();

  function store(orgId: string, model: string, price: Price | undefined): Price | undefined {
    const name = `${orgId} ${model}`;
    if (price === undefined) {
      prices.delete(name);
    } else if (prices.get(name) !== price) {
      if (prices.size >= pricesMax) {
        prices.clear();
      }
      prices.set(name, price);
    }
    return price;
  }
  return {
    find(orgId, model, atMs) {
      const found = findPrice(orgId, model, atMs);
      return found instanceof Promise
        ? found.then((price) => store(orgId, model, price))
        : store(orgId, model, found);
    },
    get: (orgId, model) => prices.get(`${orgId} ${model}`),
  };
}
