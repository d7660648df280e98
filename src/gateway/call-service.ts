/** The service that a call requests: it selects the rates of the price, and may be charged besides tokens. */
import { noOtherCharges, type OtherCharges, type Rates, worstCaseCost } from '../kernel/prices.ts';
import { type RequestedService, requestedServiceOf, usualService } from '../kernel/providers/call-request.ts';
import type { Shape } from '../kernel/providers/call-usage.ts';
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
  /** True if the provider may charge the input as written to a cache. */
  readonly cachesInput: boolean;
  /** Fields of the run that are charged besides. */
  readonly charged: {
    readonly cache_write_1h_tokens?: number;
    readonly units?: ServerTools;
  };
}

/** `1h` as a text of JSON, which may escape any character. */
const oneHour = ['"1h"', '"\\u0031h"', '"1\\u0068"', '"\\u0031\\u0068"'].map((text) => Buffer.from(text));
const cacheControl = ['"cache_control"', '\\u'].map((text) => Buffer.from(text));
const noCharges: CallService['charged'] = {};

export function callServiceOf(
  price: Tariff,
  { shape, body, bytes }: ParsedCall,
  model: string,
  inputTokens: number,
): CallService {
  const charged = chargesOf(price, shape, bytes, model, inputTokens);
  const others = charged === noCharges ? noOtherCharges : otherChargesOf(price, charged);
  const { rates, stated } = ratesOf(price, requestedServiceOf(shape, body), inputTokens);
  return { rates, others, stated, charged, cachesInput: mayCacheInput(shape, bytes, rates) };
}

/** Anthropic caches on request, others by themselves. */
function mayCacheInput(shape: Shape, bytes: Buffer, rates: Rates): boolean {
  return shape === 'messages'
    ? includesAny(bytes, cacheControl)
    : (rates.cacheWriteNanosPerMillion ?? 0n) > rates.inputNanosPerMillion;
}

function includesAny(bytes: Buffer, texts: readonly Buffer[]): boolean {
  return texts.some((text) => bytes.includes(text));
}

function chargesOf(
  { unitNanos }: Tariff,
  shape: Shape,
  bytes: Buffer,
  model: string,
  inputTokens: number,
): CallService['charged'] {
  if (shape === 'messages') {
    return includesAny(bytes, oneHour) ? { cache_write_1h_tokens: inputTokens } : noCharges;
  }
  const units = shape === 'chat' ? searchesOfModel(model) : {};
  return 'web_search' in units && unitNanos.has('web_search') ? { units } : noCharges;
}

/**
 * A provider may serve a call in the usual tier although a cheaper one was requested, or not know tiers at all. So a cheaper tier
 * counts only if the response reports it.
 */
function ratesOf(price: Tariff, requested: RequestedService, inputTokens: number) {
  const { service_tier: tier, region } = requested;
  const usual = region === undefined ? usualService : { region };
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
