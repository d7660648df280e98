/** The cost of a run by its price, its usage and how its model is served. */
import { costOf, type TokenCounts } from '../../../kernel/prices.ts';
import { ratesFor, type Tariff, unitCost } from '../../../kernel/rate-modifiers.ts';
import { type ServiceInput, serviceTermsOf } from '../../../ledger/service-fields.ts';
import type { RunRow } from './queries.ts';
import type { RunPrice } from './run-price.ts';

/** The units must have a price: `unitErrors`. */
export function servedCost(tariff: Tariff, input: ServiceInput, counts: TokenCounts): bigint {
  const units = unitCost(tariff, input.units);
  const rates = ratesFor(tariff, serviceTermsOf(input), counts.inputTokens);
  return costOf(rates, counts) + (typeof units === 'bigint' ? units : 0n);
}

/** Returns the body with the tier and region of its decision, where it states none: calls are served as decided. */
export function asDecided<Body extends { service_tier?: string; region?: string }>(
  body: Body,
  price: RunPrice | undefined,
): Body {
  const held = price?.heldService;
  if (held === undefined || (body.service_tier !== undefined && body.region !== undefined)) {
    return body;
  }
  return {
    ...body,
    ...(body.service_tier === undefined && held.tier !== undefined && { service_tier: held.tier }),
    ...(body.region === undefined && held.region !== undefined && { region: held.region }),
  };
}

type ServiceColumns = Pick<RunRow, 'service_tier' | 'region' | 'cache_write_1h_tokens' | 'units'>;

export function serviceColumnsOf(
  { service_tier, region, units }: ServiceInput,
  { cacheWrite1hTokens }: TokenCounts,
): ServiceColumns {
  return {
    service_tier: service_tier ?? null,
    region: region ?? null,
    cache_write_1h_tokens: cacheWrite1hTokens || null,
    units: units == null || Object.keys(units).length === 0 ? null : units,
  };
}

/** Returns the counts of a stored run. Audio tokens and images are not stored, so they are priced as text and not at all. */
export function storedCounts(run: RunRow): TokenCounts {
  const cacheWrite1hTokens = run.cache_write_1h_tokens ?? 0n;
  return {
    inputTokens: run.input_tokens,
    cachedInputTokens: run.cached_input_tokens,
    cacheWriteTokens: run.cache_write_tokens - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens: run.output_tokens,
  };
}
