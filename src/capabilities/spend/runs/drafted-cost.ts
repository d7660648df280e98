/** Computes the cost of a run from its request body. If the cost is unknown, the ledger posts the held amount. */
import type { FieldError } from '../../../contract/errors.ts';
import { parseUsd } from '../../../kernel/money.ts';
import { type TokenCounts, worstCaseCost } from '../../../kernel/prices.ts';
import type { Posting } from '../../../ledger/posting.ts';
import { postableAmount } from '../../../ledger/postings/amount-range.ts';
import { isUnitMissing, otherChargesOf, requestedRates, unitErrors } from '../../../ledger/service-fields.ts';
import type { PriceInForce } from '../models/index.ts';
import { fieldError } from './field-rules.ts';
import type { RunPrice } from './run-price.ts';
import type { CreateRun, Measured } from './schema.ts';
import { servedCost } from './served-cost.ts';

/** True if the cost depends on the price of the model. */
export function needsPrice({ cost_usd, estimated_cost_usd, status }: CreateRun): boolean {
  return cost_usd === undefined && (status !== 'running' || estimated_cost_usd === undefined);
}

function unpriced({ served_model }: Measured): FieldError {
  const field = served_model === undefined ? 'model' : 'served_model';
  return fieldError(field, 'invalid_value', 'This model has no price. Set `cost_usd`.');
}

/** The usage of a call that was made several times. The other fields are the sums of these. */
export interface TriedUsage {
  /** Each is priced by its own size: the sum may exceed a threshold for long inputs. */
  readonly attempts?: readonly Measured[];
}

export function costIn(
  body: Measured & TriedUsage,
  model: string,
  price: PriceInForce | undefined,
): bigint | FieldError {
  const given = body.cost_usd === undefined ? undefined : parseUsd(body.cost_usd);
  if (given !== undefined) {
    return given;
  }
  return price === undefined
    ? unpriced(body)
    : postableAmount(costOfAttempts(price, body), model, 'output_tokens');
}

function costOfAttempts(price: PriceInForce, body: Measured & TriedUsage): bigint {
  const { attempts = [body], service_tier = null, region = null } = body;
  let sum = 0n;
  for (const attempt of attempts) {
    sum += servedCost(price, { service_tier, region, ...attempt }, countsOf(attempt));
  }
  return sum;
}

/** The reason why the cost is unknown. The held amount is posted, or `atLeast` if that is more. */
interface UnknownCost {
  readonly asHeld: NonNullable<Posting['costAsHeld']>;
  readonly atLeast: bigint;
}

type SettledCost = bigint | UnknownCost;

/**
 * Returns the cost of a run that settles a hold. The money is spent, so the run is neither rejected nor free if its cost
 * cannot be computed.
 */
export function settledCost(
  body: Measured & TriedUsage & { readonly status?: string },
  model: string,
  price: RunPrice | undefined,
  isUsageKnown: boolean,
): SettledCost | FieldError {
  if (body.cost_usd === undefined && !isUsageKnown && (body.status ?? 'succeeded') === 'succeeded') {
    return unknownCost('usage_missing');
  }
  if (body.cost_usd === undefined && (price === undefined || price.unpriced === 'record')) {
    return hasUsage(body) ? unknownCost('unpriced') : 0n;
  }
  if (body.cost_usd === undefined && price !== undefined) {
    if (isUnitMissing(price, body)) {
      return (body.status ?? 'succeeded') === 'succeeded' ? unknownCost('usage_missing') : 0n;
    }
    if (unitErrors(price, body).length > 0) {
      return unknownCost('unpriced');
    }
  }
  const cost = costIn(body, model, price);
  return body.cost_usd === undefined && price?.isOfDecision === true && !isFieldError(cost) && hasUsage(body)
    ? unknownCost('unpriced', cost)
    : cost;
}

function unknownCost(asHeld: UnknownCost['asHeld'], atLeast = 0n): UnknownCost {
  return { asHeld, atLeast };
}

export function hasUsage({ input_tokens = 0, output_tokens = 0, images = 0, units = {} }: Measured): boolean {
  return (
    input_tokens > 0 || output_tokens > 0 || images > 0 || Object.values(units).some((count) => count > 0)
  );
}

export function isFieldError(cost: SettledCost | FieldError): cost is FieldError {
  return typeof cost === 'object' && 'field' in cost;
}

/** Returns the least that an unknown cost can be; the ledger, which has the hold, sets it. */
export function knownAmount(cost: SettledCost): bigint {
  return typeof cost === 'bigint' ? cost : cost.atLeast;
}

export function reasonAsHeld(cost: SettledCost): Posting['costAsHeld'] {
  return typeof cost === 'bigint' ? undefined : cost.asHeld;
}

/** Returns the version of the price that the cost of a finished run was computed from. Without rates there is none. */
export function chargedVersion(price: PriceInForce | undefined): string | null {
  return price === undefined || price.unpriced === 'record' ? null : price.versionId;
}

/** Returns the estimated maximum cost of a running run. */
export function estimateOf(body: CreateRun, price: PriceInForce | undefined): bigint | FieldError {
  const given = body.estimated_cost_usd ?? body.cost_usd;
  if (given !== undefined) {
    return parseUsd(given) ?? 0n;
  }
  const maxOutput = body.max_output_tokens ?? body.output_tokens;
  if (body.input_tokens === undefined || maxOutput === undefined) {
    return fieldError(
      'estimated_cost_usd',
      'required',
      'A running run needs `estimated_cost_usd`, or `input_tokens` with `max_output_tokens`.',
    );
  }
  const inputTokens = BigInt(body.input_tokens);
  const rates = requestedRates(price, body, inputTokens);
  return rates === undefined
    ? unpriced(body)
    : postableAmount(
        worstCaseCost(rates, inputTokens, BigInt(maxOutput), otherChargesOf(price, body)),
        body.model,
        body.max_output_tokens === undefined ? 'output_tokens' : 'max_output_tokens',
      );
}

export function countsOf(body: Measured): TokenCounts {
  return {
    inputTokens: countOf(body.input_tokens),
    cachedInputTokens: countOf(body.cached_input_tokens),
    cacheWriteTokens: countOf(body.cache_write_tokens),
    cacheWrite1hTokens: countOf(body.cache_write_1h_tokens),
    outputTokens: countOf(body.output_tokens),
    audioInputTokens: countOf(body.audio_input_tokens),
    audioOutputTokens: countOf(body.audio_output_tokens),
    images: countOf(body.images),
  };
}

function countOf(tokens: number | undefined): bigint {
  return tokens === undefined ? 0n : BigInt(tokens);
}
