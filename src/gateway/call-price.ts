/**
 * Finds the price to hold for a call. Its connections may be at hosts with different prices, and any of them may serve it. A
 * deployment has the most expensive price of the models that it has served, of its stated model, and of its name, unless the org has a
 * price for its name.
 */
import {
  type Connection,
  mayBeDeployment,
  modelIdAt,
} from '../capabilities/integration/connections/index.ts';
import { isOrgPrice, type PriceInForce } from '../capabilities/spend/models/index.ts';
import type { CallPrices } from '../capabilities/spend/unpriced-models/index.ts';
import type { CalledAt } from '../kernel/model-hosts.ts';
import { worstCaseCost } from '../kernel/prices.ts';
import type { OfferedTool } from '../kernel/providers/offered-tools.ts';
import { maximumRatesFor } from '../kernel/rate-modifiers.ts';
import { costOfTools } from './call-tools.ts';
import type { Deployments } from './learned/deployments.ts';

export interface CallPrice {
  /** The most expensive of the prices. */
  readonly price: PriceInForce;
  /** The place with this price. */
  readonly calledAt: CalledAt;
  /** The model with this price, if it is that of a deployment: stated, or learned from responses. */
  readonly learnedModel: string | undefined;
  /** The id of the model at this place, if the price is found by it and not by the called name. */
  readonly pricedId: string | undefined;
  /** True if the org has a price of its own for exactly the called name. */
  readonly hasOwnPrice: boolean;
  /** The connections at which the model has a price, in their original order. */
  readonly candidates: readonly Connection[];
}

export interface CallPriceDependencies {
  readonly prices: Pick<CallPrices, 'findForCall'>;
  readonly deployments: Pick<Deployments, 'models'>;
}

export interface PricedModel {
  readonly orgId: string;
  readonly model: string;
  readonly nowMs: number;
  /** The provider in the price list, for connections whose provider is unknown. */
  readonly listedProvider: string | null;
  /** About as many tokens and tool calls as the call may have, to compare prices. */
  readonly size: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly tools: readonly OfferedTool[];
    readonly toolCalls: number;
  };
}

/** Returns the price; undefined if the model has none at any connection. Returns a promise only if something must be loaded. */
export function findCallPrice(
  deps: CallPriceDependencies,
  connections: readonly Connection[],
  priced: PricedModel,
): CallPrice | undefined | Promise<CallPrice | undefined> {
  const [only] = connections;
  if (only !== undefined && connections.length === 1) {
    return priceAt(deps, only, priced);
  }
  const found = connections.map((connection) => priceAt(deps, connection, priced));
  return found.some((one) => one instanceof Promise)
    ? Promise.all(found).then((prices) => chosen(prices, priced))
    : chosen(found as (CallPrice | undefined)[], priced);
}

function chosen(prices: readonly (CallPrice | undefined)[], priced: PricedModel): CallPrice | undefined {
  const found = prices.filter((price) => price !== undefined);
  const [first] = found;
  if (first === undefined || found.length === 1) {
    return first;
  }
  const isOne = found.every(
    ({ price, calledAt }) => price === first.price && calledAt.region === first.calledAt.region,
  );
  const held = isOne ? first : mostExpensive(found, priced);
  return { ...held, candidates: found.flatMap((one) => one.candidates) };
}

/** Returns the price with the highest cost of a call of about this size. */
function mostExpensive(prices: readonly CallPrice[], { size }: PricedModel): CallPrice {
  const input = BigInt(size.inputTokens);
  const costOf = ({ price, calledAt: { region = null } }: CallPrice) =>
    worstCaseCost(maximumRatesFor(price, { tier: null, region }, input), input, BigInt(size.outputTokens)) +
    costOfTools(size.tools, size.toolCalls, price);
  return prices.reduce((most, one) => (costOf(one) > costOf(most) ? one : most));
}

function priceAt(
  deps: CallPriceDependencies,
  connection: Connection,
  priced: PricedModel,
): CallPrice | undefined | Promise<CallPrice | undefined> {
  const calledAt = placeOf(connection, priced.listedProvider);
  const found = deps.prices.findForCall(priced.orgId, priced.model, priced.nowMs, calledAt);
  return found instanceof Promise
    ? found.then((price) => callPriceOf(deps, connection, priced, calledAt, price))
    : callPriceOf(deps, connection, priced, calledAt, found);
}

function callPriceOf(
  deps: CallPriceDependencies,
  connection: Connection,
  priced: PricedModel,
  calledAt: CalledAt,
  price: PriceInForce | undefined,
): CallPrice | undefined | Promise<CallPrice | undefined> {
  const hasOwnPrice = price !== undefined && isOwnFor(price, priced.model);
  if (!hasOwnPrice && mayBeDeployment(connection, priced.model)) {
    return deploymentPrice(deps, connection, priced, price);
  }
  const id = modelIdAt(connection, priced.model);
  const named = { calledAt, learnedModel: undefined, hasOwnPrice, candidates: [connection] };
  return !hasOwnPrice && id !== priced.model
    ? priceOfId(deps, priced, id, named)
    : price && { ...named, price, pricedId: undefined };
}

/** Returns the price of a model that its provider calls by another name. */
async function priceOfId(
  { prices }: CallPriceDependencies,
  { orgId, nowMs }: PricedModel,
  id: string,
  named: Omit<CallPrice, 'price' | 'pricedId'>,
): Promise<CallPrice | undefined> {
  const price = await prices.findForCall(orgId, id, nowMs, named.calledAt);
  return price && { ...named, price, pricedId: id };
}

/** Returns the most expensive price of the models of the deployment, stated or served, and of its name if that has one. */
async function deploymentPrice(
  { prices, deployments }: CallPriceDependencies,
  connection: Connection,
  priced: PricedModel,
  priceOfName: PriceInForce | undefined,
): Promise<CallPrice | undefined> {
  const { orgId, model, nowMs } = priced;
  const calledAt = placeOf(connection, priced.listedProvider);
  const candidates = [connection];
  const served: CallPrice[] = [];
  const stated = Object.entries(connection.deploymentModels).flatMap(([name, statedModel]) =>
    isSameDeployment(name, model) ? [statedModel] : [],
  );
  const learned = await deployments.models({ orgId, connectionId: connection.id, name: model });
  for (const learnedModel of new Set([...stated, ...learned])) {
    const price = await prices.findForCall(orgId, learnedModel, nowMs, calledAt);
    if (price !== undefined) {
      served.push({ price, calledAt, learnedModel, pricedId: undefined, hasOwnPrice: false, candidates });
    }
  }
  // Default rates apply only until the model behind the name is known.
  const isNamed = priceOfName !== undefined && (served.length === 0 || priceOfName.unpriced === undefined);
  const named = { calledAt, learnedModel: undefined, pricedId: undefined, hasOwnPrice: false, candidates };
  const found = isNamed ? [{ ...named, price: priceOfName }, ...served] : served;
  return found.length === 0 ? undefined : mostExpensive(found, priced);
}

/** The names of Azure's resources have no case, so another spelling may reach the same deployment. */
function isSameDeployment(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Returns true if the org has a price of its own for exactly this name. */
function isOwnFor(price: PriceInForce, name: string): boolean {
  return isOrgPrice(price) && price.model === name;
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
