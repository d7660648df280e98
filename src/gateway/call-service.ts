/** The service that a call requests: it selects the rates of the price, and may be charged besides tokens. */
import { type OtherCharges, type Rates, worstCaseCost } from '../kernel/prices.ts';
import { type RequestedService, requestedServiceOf } from '../kernel/providers/call-request.ts';
import { type ServerTools, searchesOfModel } from '../kernel/providers/server-tools.ts';
import type { Tariff } from '../kernel/rate-modifiers.ts';
import { otherChargesOf, requestedRates } from '../ledger/service-fields.ts';
import type { ParsedCall } from './parse-call.ts';

export interface CallService {
  /** The highest rates that the call may be charged. */
  readonly rates: Rates;
  readonly others: OtherCharges;
  /** Fields of the run that select these rates. */
  readonly stated: RequestedService;
  /** Fields of the run that are charged besides. */
  readonly charged: {
    readonly cache_write_1h_tokens?: number;
    readonly units?: ServerTools;
  };
}

const oneHour = Buffer.from('"1h"');

export function callServiceOf(
  price: Tariff,
  { shape, body, bytes }: ParsedCall,
  model: string,
  inputTokens: number,
): CallService {
  const isCachedForAnHour = shape === 'messages' && bytes.includes(oneHour);
  const units = pricedUnits(price, shape === 'chat' ? searchesOfModel(model) : {});
  const charged = {
    ...(isCachedForAnHour && { cache_write_1h_tokens: inputTokens }),
    ...(Object.keys(units).length > 0 && { units }),
  };
  const others = otherChargesOf(price, charged);
  return { ...ratesOf(price, requestedServiceOf(shape, body), inputTokens), others, charged };
}

/**
 * A provider may serve a call in the usual tier although a cheaper one was requested, or not know tiers at all. So a cheaper tier
 * counts only if the response reports it.
 */
function ratesOf(price: Tariff, requested: RequestedService, inputTokens: number) {
  const { service_tier: tier, ...usual } = requested;
  const usualRates = requestedRates(price, usual, BigInt(inputTokens)) ?? price.rates;
  if (tier === undefined) {
    return { rates: usualRates, stated: usual };
  }
  const rates = requestedRates(price, requested, BigInt(inputTokens)) ?? price.rates;
  return isCheaper(rates, usualRates) ? { rates: usualRates, stated: usual } : { rates, stated: requested };
}

function isCheaper(one: Rates, other: Rates): boolean {
  const costOf = (rates: Rates) => worstCaseCost(rates, 1_000_000n, 1_000_000n);
  return costOf(one) < costOf(other);
}

function pricedUnits({ unitNanos }: Tariff, units: ServerTools): ServerTools {
  return Object.fromEntries(Object.entries(units).filter(([name]) => unitNanos.has(name)));
}
