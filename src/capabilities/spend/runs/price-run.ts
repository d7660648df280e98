/** The stage that computes the cost of a run. If the cost is unknown, the ledger posts the held amount. */
import type { FieldError } from '../../../contract/errors.ts';
import {
  type CostParts,
  nanosOfParts,
  noParts,
  scaledParts,
  sumOfParts,
} from '../../../kernel/cost-parts.ts';
import { parseUsd } from '../../../kernel/money.ts';
import { cacheSavings, partsOf, type TokenCounts, worstCaseCost } from '../../../kernel/prices.ts';
import { ratesFor, type Tariff, unitParts } from '../../../kernel/rate-modifiers.ts';
import type { Posting } from '../../../ledger/posting.ts';
import { postableAmount } from '../../../ledger/postings/amount-range.ts';
import {
  isUnitMissing,
  otherChargesOf,
  requestedRates,
  type ServiceInput,
  serviceTermsOf,
  unitErrors,
} from '../../../ledger/service-fields.ts';
import { isOrgPrice, type PriceInForce } from '../models/index.ts';
import type { RunPrice } from './find-price.ts';
import { countsOf, hasUsage, ownCounts } from './run-usage.ts';
import type { CreateRun, Measured, RunStatus } from './schema.ts';

/** A cost and its parts. */
export interface RunCharge {
  readonly usd: bigint;
  /** Parts of the cost; empty if the cost was given or is unknown. */
  readonly parts: CostParts;
  readonly cacheSavings: bigint;
}

function unsplit(usd: bigint): RunCharge {
  return { usd, parts: noParts, cacheSavings: 0n };
}

/** The cost of a run. If it is unknown, `usd` is a lower bound. */
export interface Cost extends RunCharge {
  /** True if the cost contains that of tools, since the provider has stated it. */
  readonly includesTools?: boolean;
  /** Set if the cost is unknown. The larger of the held amount and `usd` is then posted. */
  readonly asHeld: Posting['costAsHeld'];
  /** The price that the cost was computed from; undefined if the cost was given or is unknown. */
  readonly price: PriceInForce | undefined;
}

/** The usage of a call with several charged attempts. All other fields are sums over the attempts. */
export interface TriedUsage {
  /** Usage of each attempt. Each is priced by its own size, because the sum may exceed a threshold for long inputs. */
  readonly attempts?: readonly Measured[];
  /** The cost that the provider states. */
  readonly stated?: StatedCost;
}

export interface StatedCost {
  readonly usd: string;
  /** True if the called name is that of a variant that its provider offers free of charge. */
  readonly isFreeModel: boolean;
}

/** Ends the names of models that OpenRouter offers free of charge. */
const freeVariant = ':free';

export function statedCost(model: string, usd: string): StatedCost {
  return { usd, isFreeModel: model.endsWith(freeVariant) };
}

/** Returns the run of this model with the cost that its body states. */
export function withStated<Body extends Measured & TriedUsage>(body: Body, model: string): Body & TriedUsage {
  const { stated_cost_usd: usd } = body;
  return usd === undefined ? body : { ...body, stated: statedCost(model, usd) };
}

/** Returns the run with the stated cost in its metadata, if its cost is another one. */
export function withStatedKept<Body extends Measured & TriedUsage>(
  body: Body,
  price: RunPrice | undefined,
): Body {
  const { stated_cost_usd: usd, metadata } = body;
  const isKept = usd !== undefined && (body.cost_usd !== undefined || !isStatedCharged(body, price));
  return isKept ? { ...body, metadata: { ...metadata, stated_cost_usd: usd } } : body;
}

/** A run whose cost is computed, at its creation or its completion. */
type PricedBody = Measured & TriedUsage & { readonly status?: RunStatus };

/** Returns true if the cost depends on the price of the model. */
export function needsPrice({ cost_usd, estimated_cost_usd, status }: CreateRun): boolean {
  return cost_usd === undefined && (status !== 'running' || estimated_cost_usd === undefined);
}

/** Returns the cost of a new run, or an error for the field that prevents computing it. */
export function priceRun(
  body: CreateRun & TriedUsage,
  counts: TokenCounts,
  price: RunPrice | undefined,
): Cost | FieldError {
  if (body.status === 'running') {
    return estimatedCost(body, price);
  }
  const served = body.served_model ?? body.model;
  if (body.decision_id !== undefined) {
    return settledCost(body, counts, served, price, hasUsage(body));
  }
  return !isGiven(body, price) && hasUnpricedModel(price)
    ? { field: 'other_models', code: 'invalid_value', message: 'A model has no price. Set `cost_usd`.' }
    : finalCost(body, counts, served, price);
}

/** True if another model of the run has no price. Its tokens are then charged at the price of the run, at least. */
function hasUnpricedModel(price: RunPrice | undefined): boolean {
  return price?.others !== undefined && [...price.others.values()].includes(undefined);
}

/** Returns the maximum cost of a running run. */
function estimatedCost(body: CreateRun, price: PriceInForce | undefined): Cost | FieldError {
  const given = body.estimated_cost_usd ?? body.cost_usd;
  if (given !== undefined) {
    return knownCost(given, unsplit);
  }
  const maxOutput = body.max_output_tokens ?? body.output_tokens;
  if (body.input_tokens === undefined || maxOutput === undefined) {
    return {
      field: 'estimated_cost_usd',
      code: 'required',
      message: 'A running run needs `estimated_cost_usd`, or `input_tokens` with `max_output_tokens`.',
    };
  }
  const inputTokens = BigInt(body.input_tokens);
  const rates = requestedRates(price, body, inputTokens);
  return rates === undefined
    ? unpricedError(body)
    : computedCost(
        unsplit(worstCaseCost(rates, inputTokens, BigInt(maxOutput), otherChargesOf(price, body))),
        price,
        body.model,
        body.max_output_tokens === undefined ? 'output_tokens' : 'max_output_tokens',
      );
}

/** Returns the cost of a finished run, or an error if it has no price. */
function finalCost(
  body: PricedBody,
  counts: TokenCounts,
  model: string,
  price: RunPrice | undefined,
): Cost | FieldError {
  if (body.cost_usd !== undefined) {
    return givenCost(body.cost_usd, body, counts, price);
  }
  if (body.stated !== undefined && isStatedCharged(body, price)) {
    const cost = givenCost(body.stated.usd, body, counts, price, 'stated_cost_usd');
    return isFieldError(cost) ? cost : { ...cost, includesTools: true };
  }
  return price === undefined
    ? unpricedError(body)
    : computedCost(chargeOfAttempts(price, body, counts), price, model, 'output_tokens');
}

/**
 * Returns the cost of a run that settles a hold. The money was spent, so the run is neither rejected nor free if the cost cannot be
 * computed.
 */
export function settledCost(
  body: PricedBody,
  counts: TokenCounts,
  model: string,
  price: RunPrice | undefined,
  isUsageKnown: boolean,
): Cost | FieldError {
  const hasCost = isGiven(body, price);
  const unknown = hasCost ? undefined : unknownCost(body, price, isUsageKnown);
  if (unknown !== undefined) {
    return unknown;
  }
  const cost = finalCost(body, counts, model, price);
  return hasCost ? cost : leastCost(body, cost, price);
}

/** Returns true if the cost is given, by the caller or by the provider. */
function isGiven(body: PricedBody, price: RunPrice | undefined): boolean {
  return body.cost_usd !== undefined || isStatedCharged(body, price);
}

/**
 * Returns true if a stated cost is the cost of the run. A price of the organization itself wins: it is what was agreed. A stated 0 of
 * a model with a price may mean that the provider knows no price, so it counts for free variants alone.
 */
export function isStatedCharged(body: Measured & TriedUsage, price: RunPrice | undefined): boolean {
  if (body.stated === undefined) {
    return false;
  }
  const { usd, isFreeModel } = body.stated;
  const isPriced = price !== undefined && price.unpriced === undefined && price.isOfDecision !== true;
  if (isPriced && isOrgPrice(price) && !hasUnpricedModel(price) && unitErrors(price, body).length === 0) {
    return false;
  }
  const isUnpriced = price === undefined || price.unpriced !== undefined;
  return isFreeModel || isUnpriced || parseUsd(usd) !== 0n;
}

const usageMissing: Cost = { ...unsplit(0n), asHeld: 'usage_missing', price: undefined };
const unpriced: Cost = { ...unsplit(0n), asHeld: 'unpriced', price: undefined };

/** Returns the cost if it cannot be computed; undefined if it can. A run without any charged usage is free. */
function unknownCost(body: PricedBody, price: RunPrice | undefined, isUsageKnown: boolean): Cost | undefined {
  const hasSucceeded = (body.status ?? 'succeeded') === 'succeeded';
  if (hasSucceeded && !isUsageKnown) {
    return usageMissing;
  }
  if (price === undefined || price.unpriced === 'record') {
    return hasUsage(body) ? unpriced : { ...unsplit(0n), asHeld: undefined, price };
  }
  if (isUnitMissing(price, body)) {
    return hasSucceeded ? usageMissing : { ...unsplit(0n), asHeld: undefined, price };
  }
  return undefined;
}

/**
 * Returns the cost of a run whose model or one of whose units has no price. The cost by the price of the decision, or of the rest,
 * is then a lower bound.
 */
function leastCost(body: Measured, cost: Cost | FieldError, price: RunPrice | undefined): Cost | FieldError {
  const isPartial =
    price !== undefined &&
    (price.isOfDecision === true || hasUnpricedModel(price) || unitErrors(price, body).length > 0);
  return isPartial && !isFieldError(cost) && hasUsage(body)
    ? { ...cost, asHeld: 'unpriced', price: undefined }
    : cost;
}

/** Returns the given cost, divided among the kinds in the proportions of the price. */
function givenCost(
  given: string,
  body: PricedBody,
  counts: TokenCounts,
  price: RunPrice | undefined,
  field = 'cost_usd',
): Cost | FieldError {
  const chargeOfCost = (usd: bigint) =>
    price === undefined || usd === 0n ? unsplit(usd) : scaled(chargeOfAttempts(price, body, counts), usd);
  return knownCost(given, chargeOfCost, field);
}

function knownCost(
  given: string,
  chargeOfCost: (usd: bigint) => RunCharge,
  field = 'cost_usd',
): Cost | FieldError {
  const usd = parseUsd(given);
  return usd === undefined
    ? { field, code: 'out_of_range', message: 'This amount is too large.' }
    : { ...chargeOfCost(usd), asHeld: undefined, price: undefined };
}

function scaled({ usd: listed, parts, cacheSavings }: RunCharge, usd: bigint): RunCharge {
  return listed === 0n
    ? unsplit(usd)
    : { usd, parts: scaledParts(parts, usd), cacheSavings: (cacheSavings * usd) / listed };
}

function computedCost(
  charge: RunCharge,
  price: PriceInForce | undefined,
  model: string,
  field: string,
): Cost | FieldError {
  const usd = postableAmount(charge.usd, model, field);
  return typeof usd === 'bigint' ? { ...charge, usd, asHeld: undefined, price } : usd;
}

function unpricedError({ served_model }: Measured): FieldError {
  const field = served_model === undefined ? 'model' : 'served_model';
  return { field, code: 'invalid_value', message: 'This model has no price. Set `cost_usd`.' };
}

export function isFieldError(cost: Cost | FieldError): cost is FieldError {
  return 'field' in cost;
}

function chargeOfAttempts(price: RunPrice, body: PricedBody, counts: TokenCounts): RunCharge {
  const { attempts, service_tier = null, region = null } = body;
  if (attempts === undefined) {
    return chargeOfModels(price, body, counts);
  }
  const charges = attempts.map((attempt) => {
    const charge = chargeOfModels(price, { service_tier, region, ...attempt }, countsOf(attempt));
    const stated = isOrgPrice(price) ? undefined : parseUsd(attempt.stated_cost_usd ?? '');
    return stated === undefined || stated === 0n ? charge : scaled(charge, stated);
  });
  return sumOfCharges(charges);
}

function sumOfCharges(charges: readonly RunCharge[]): RunCharge {
  return {
    usd: charges.reduce((sum, { usd }) => sum + usd, 0n),
    parts: sumOfParts(...charges.map(({ parts }) => parts)),
    cacheSavings: charges.reduce((sum, charge) => sum + charge.cacheSavings, 0n),
  };
}

interface ModelsInput extends ServiceInput {
  readonly other_models?: Measured['other_models'];
}

/** Returns the cost of usage of which other models have a part, each at its own price. */
function chargeOfModels(price: RunPrice, input: ModelsInput, counts: TokenCounts): RunCharge {
  const { other_models: others = [], service_tier = null, region = null } = input;
  if (others.length === 0) {
    return chargeOf(price, input, counts);
  }
  const ofOthers = others.map((other) =>
    chargeOf(price.others?.get(other.model) ?? price, { service_tier, region }, countsOf(other)),
  );
  return sumOfCharges([chargeOf(price, input, ownCounts(counts, others)), ...ofOthers]);
}

/** Returns the cost of usage by a price, for the service tier and region. The units must have a price: `unitErrors`. */
export function chargeOf(tariff: Tariff, input: ServiceInput, counts: TokenCounts): RunCharge {
  const rates = ratesFor(tariff, serviceTermsOf(input), counts.inputTokens);
  const parts = partsOf(rates, counts);
  if (input.units != null) {
    parts.push(...unitParts(tariff, input.units));
  }
  return { usd: nanosOfParts(parts), parts, cacheSavings: cacheSavings(rates, counts) };
}
