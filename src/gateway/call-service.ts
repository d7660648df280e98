/** The service that a call requests. It selects the rates of the price, and may be charged in addition to tokens. */
import { noOtherCharges, type OtherCharges, type Rates, worstCaseCost } from '../kernel/prices.ts';
import type { CallFormat, RequestFormat } from '../kernel/providers/call-format.ts';
import { type RequestedService, usualService } from '../kernel/providers/requested-service.ts';
import { mostCalls, noServerTools, type ServerTools } from '../kernel/providers/server-tools.ts';
import type { Tariff } from '../kernel/rate-modifiers.ts';
import { otherChargesOf, requestedRates } from '../ledger/service-fields.ts';
import { type CallTools, unitsOf } from './call-tools.ts';
import type { ParsedCall } from './parse-call.ts';

export interface CallService {
  /** The highest rates that may apply to the call. */
  readonly rates: Rates;
  readonly others: OtherCharges;
  /** The part of `others` that the run does not state: tools without a price, and predicted output. */
  readonly nanos: bigint;
  /** Fields of the run that select the rates. */
  readonly stated: RequestedService;
  /** True if the provider may charge the input as a cache write. */
  readonly cachesInput: boolean;
  /** Searches that the model always makes. */
  readonly searches: ServerTools;
  /** Maxima of the fields of the run that are charged in addition. */
  readonly charged: {
    readonly cache_write_1h_tokens?: number;
    readonly units?: ServerTools;
  };
}

export interface ServiceRules {
  readonly model: string;
  readonly inputTokens: number;
  readonly tools: CallTools;
  readonly predictedTokens: number;
  /** Region of the connection; undefined if it is unknown. */
  readonly region?: string | undefined;
  /** Service tier that a connection selects for all its calls. */
  readonly tier?: string | undefined;
}

/** Spellings of `1h` in JSON text, which may escape any character. */
const oneHour = ['"1h"', '"\\u0031h"', '"1\\u0068"', '"\\u0031\\u0068"'].map((text) => Buffer.from(text));
const cacheControl = ['"cache_control"', '"cachePoint"', '\\u'].map((text) => Buffer.from(text));
const noCharges: CallService['charged'] = {};

export function callServiceOf(
  price: Tariff,
  { format, body, bytes }: ParsedCall,
  { model, inputTokens, tools, predictedTokens, region, tier }: ServiceRules,
): CallService {
  const { request } = format;
  const searches = searchesOf(price, format, model);
  const charged = chargesOf(request, bytes, inputTokens, mostCalls(unitsOf(searches, tools), tools.units));
  const ofBody = request.serviceOf(body);
  const requested = tier === undefined ? ofBody : { ...ofBody, service_tier: tier };
  const { rates, stated } = ratesOf(
    price,
    region === undefined ? requested : { region, ...requested },
    inputTokens,
  );
  const nanos =
    tools.nanos + (predictedTokens === 0 ? 0n : worstCaseCost(rates, 0n, BigInt(predictedTokens)));
  const others = withNanos(charged === noCharges ? noOtherCharges : otherChargesOf(price, charged), nanos);
  return {
    rates,
    nanos,
    others,
    stated,
    searches,
    charged,
    cachesInput: mayCacheInput(request, bytes, rates),
  };
}

function withNanos(others: OtherCharges, nanos: bigint): OtherCharges {
  return nanos === 0n ? others : { ...others, unitNanos: others.unitNanos + nanos };
}

function searchesOf({ unitNanos }: Tariff, { tools }: CallFormat, model: string): ServerTools {
  const searches = tools.searchesOf(model);
  return 'web_search' in searches && unitNanos.has('web_search') ? searches : noServerTools;
}

function mayCacheInput({ cachesOnRequest }: RequestFormat, bytes: Buffer, rates: Rates): boolean {
  return cachesOnRequest
    ? includesAny(bytes, cacheControl)
    : (rates.cacheWriteNanosPerMillion ?? 0n) > rates.inputNanosPerMillion;
}

function includesAny(bytes: Buffer, texts: readonly Buffer[]): boolean {
  return texts.some((text) => bytes.includes(text));
}

function chargesOf(
  { cachesOnRequest }: RequestFormat,
  bytes: Buffer,
  inputTokens: number,
  units: ServerTools,
): CallService['charged'] {
  const cached =
    cachesOnRequest && includesAny(bytes, oneHour) ? { cache_write_1h_tokens: inputTokens } : noCharges;
  return Object.keys(units).length === 0 ? cached : { units, ...cached };
}

/**
 * Returns the rates to hold. A provider may serve a call in the usual tier although a cheaper one was requested, or may not know
 * tiers. So a cheaper tier only counts if the response reports it.
 */
function ratesOf(price: Tariff, requested: RequestedService, inputTokens: number) {
  const { region } = requested;
  const tier = tierToHold(price, requested, inputTokens);
  const usual = region === undefined ? usualService : { region };
  const usualRates = requestedRates(price, usual, BigInt(inputTokens)) ?? price.rates;
  if (tier === undefined) {
    return { rates: usualRates, stated: usual };
  }
  const stated = { ...usual, service_tier: tier };
  const rates = requestedRates(price, stated, BigInt(inputTokens)) ?? price.rates;
  return isCheaper(rates, usualRates) ? { rates: usualRates, stated: usual } : { rates, stated };
}

/** Tiers that no provider charges above its usual rates. */
const usualTiers = new Set(['default', 'standard', 'standard_only', 'flex', 'batch', 'scale', 'on_demand']);

/** Returns the tier to hold. For `auto`, and for a tier that the price does not have, it is the most expensive one of the price. */
function tierToHold(price: Tariff, requested: RequestedService, inputTokens: number): string | undefined {
  const { service_tier: tier } = requested;
  // Left out for `auto`, because Anthropic's fast mode is only served on request.
  const tiers = price.modifiers
    .flatMap(({ when }) => when.tier ?? [])
    .filter((one) => one !== 'fast' || tier !== 'auto');
  if (tier === undefined || tiers.length === 0 || tiers.includes(tier) || usualTiers.has(tier)) {
    return tier;
  }
  const ratesOfTier = (one: string) =>
    requestedRates(price, { ...requested, service_tier: one }, BigInt(inputTokens)) ?? price.rates;
  return tiers.reduce((most, one) => (isCheaper(ratesOfTier(most), ratesOfTier(one)) ? one : most));
}

function isCheaper(one: Rates, other: Rates): boolean {
  const costOf = (rates: Rates) => worstCaseCost(rates, 1_000_000n, 1_000_000n);
  return costOf(one) < costOf(other);
}
