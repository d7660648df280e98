/** The service that a call requests: it selects the rates of the price, and may be charged besides tokens. */
import { noOtherCharges, type OtherCharges, type Rates, worstCaseCost } from '../kernel/prices.ts';
import { type RequestedService, requestedServiceOf, usualService } from '../kernel/providers/call-request.ts';
import type { Shape } from '../kernel/providers/call-usage.ts';
import { mostCalls, type ServerTools, searchesOfModel } from '../kernel/providers/server-tools.ts';
import type { Tariff } from '../kernel/rate-modifiers.ts';
import { otherChargesOf, requestedRates } from '../ledger/service-fields.ts';
import type { CallTools } from './call-tools.ts';
import type { ParsedCall } from './parse-call.ts';

export interface CallService {
  /** The highest rates that the call may be charged. */
  readonly rates: Rates;
  readonly others: OtherCharges;
  /** Fields of the run that select these rates. */
  readonly stated: RequestedService;
  /** True if the provider may charge the input as written to a cache. */
  readonly cachesInput: boolean;
  /** Searches that the model makes in any case. */
  readonly searches: ServerTools;
  /** Fields of the run that are charged besides, at most. */
  readonly charged: {
    readonly cache_write_1h_tokens?: number;
    readonly units?: ServerTools;
  };
}

/** `1h` as a text of JSON, which may escape any character. */
const oneHour = ['"1h"', '"\\u0031h"', '"1\\u0068"', '"\\u0031\\u0068"'].map((text) => Buffer.from(text));
const cacheControl = ['"cache_control"', '\\u'].map((text) => Buffer.from(text));
const noCharges: CallService['charged'] = {};
const noSearches: ServerTools = {};

export function callServiceOf(
  price: Tariff,
  { shape, body, bytes }: ParsedCall,
  model: string,
  inputTokens: number,
  tools: CallTools,
): CallService {
  const searches = searchesOf(price, shape, model);
  const charged = chargesOf(shape, bytes, inputTokens, mostCalls(searches, tools.units));
  const others = withTools(charged === noCharges ? noOtherCharges : otherChargesOf(price, charged), tools);
  const { rates, stated } = ratesOf(price, requestedServiceOf(shape, body), inputTokens);
  return { rates, others, stated, searches, charged, cachesInput: mayCacheInput(shape, bytes, rates) };
}

function withTools(others: OtherCharges, { nanos }: CallTools): OtherCharges {
  return nanos === 0n ? others : { ...others, unitNanos: others.unitNanos + nanos };
}

function searchesOf({ unitNanos }: Tariff, shape: Shape, model: string): ServerTools {
  const searches = shape === 'chat' ? searchesOfModel(model) : noSearches;
  return 'web_search' in searches && unitNanos.has('web_search') ? searches : noSearches;
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
  shape: Shape,
  bytes: Buffer,
  inputTokens: number,
  units: ServerTools,
): CallService['charged'] {
  const cached =
    shape === 'messages' && includesAny(bytes, oneHour) ? { cache_write_1h_tokens: inputTokens } : noCharges;
  return Object.keys(units).length === 0 ? cached : { units, ...cached };
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
