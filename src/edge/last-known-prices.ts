/**
 * The last price found for each org and model. It is used for decisions while the database is unavailable, when the cache of prices
 * is bypassed.
 */
import type { CalledAt } from '../kernel/model-hosts.ts';
import type { Price } from './decision.ts';

type FindPrice = (
  orgId: string,
  model: string,
  atMs: number,
  at: CalledAt,
) => Price | undefined | Promise<Price | undefined>;

const pricesMax = 10_000;

export interface LastKnownPrices {
  /** Finds a price like the wrapped function, and stores it. */
  readonly find: FindPrice;
  get(orgId: string, model: string, at: CalledAt): Price | undefined;
}

export function createLastKnownPrices(findPrice: FindPrice): LastKnownPrices {
  const prices = new Map<string, Price>();

  function store(name: string, price: Price | undefined): Price | undefined {
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
    find(orgId, model, atMs, at) {
      const name = priceKey(orgId, model, at);
      const found = findPrice(orgId, model, atMs, at);
      return found instanceof Promise ? found.then((price) => store(name, price)) : store(name, found);
    },
    get: (orgId, model, at) => prices.get(priceKey(orgId, model, at)),
  };
}

function priceKey(orgId: string, model: string, { provider, region }: CalledAt): string {
  return provider == null ? `${orgId} ${model}` : `${orgId} ${provider} ${region ?? ''} ${model}`;
}
