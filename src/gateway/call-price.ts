/** Finds the price to hold for a call. Its connections may be at hosts with different prices, and any of them may serve it. */
import type { Connection } from '../capabilities/integration/connections/index.ts';
import { mostExpensive, type PriceInForce } from '../capabilities/spend/models/index.ts';
import type { CallPrices } from '../capabilities/spend/unpriced-models/index.ts';
import type { CalledAt } from '../kernel/model-hosts.ts';

export interface CallPrice {
  /** The most expensive of the prices. */
  readonly price: PriceInForce;
  /** The place with this price. */
  readonly calledAt: CalledAt;
  /** The connections at which the model has a price, in their original order. */
  readonly candidates: readonly Connection[];
}

export interface PricedModel {
  readonly orgId: string;
  readonly model: string;
  readonly nowMs: number;
  /** The provider in the price list, for connections whose provider is unknown. */
  readonly listedProvider: string | null;
}

/** Returns the price; undefined if the model has none at any connection. */
export async function findCallPrice(
  prices: Pick<CallPrices, 'findForCall'>,
  candidates: readonly Connection[],
  priced: PricedModel,
): Promise<CallPrice | undefined> {
  const { orgId, model, nowMs } = priced;
  const found: CallPrice[] = [];
  for (const connection of candidates) {
    const calledAt = placeOf(connection, priced.listedProvider);
    const known = found.find((one) => isSamePlace(one.calledAt, calledAt));
    const price = known?.price ?? prices.findForCall(orgId, model, nowMs, calledAt);
    const inForce = price instanceof Promise ? await price : price;
    if (inForce !== undefined) {
      found.push({ price: inForce, calledAt, candidates: [connection] });
    }
  }
  const [first] = found;
  return first === undefined || found.length === 1
    ? first
    : {
        ...(mostExpensive(found, ({ price }) => price.rates) ?? first),
        candidates: found.flatMap((one) => one.candidates),
      };
}

/**
 * Returns the place at which a connection calls models. A generic URL does not identify the provider. In that case the price list
 * does, or the name that the admin gave the connection.
 */
export function placeOf({ calledAt, name }: Connection, listedProvider: string | null): CalledAt {
  return calledAt.provider == null ? { ...calledAt, provider: listedProvider ?? name } : calledAt;
}

export function isSamePlace(one: CalledAt, other: CalledAt): boolean {
  return one === other || (one.provider === other.provider && one.region === other.region);
}
