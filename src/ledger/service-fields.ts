/** Request fields of decisions and runs that select the rates of a price, or are charged besides tokens. */
import { Type } from 'typebox';
import type { FieldError } from '../contract/errors.ts';
import { formatMessage } from '../contract/format-message.ts';
import { nanosOfParts } from '../kernel/cost-parts.ts';
import type { OtherCharges, Rates } from '../kernel/prices.ts';
import {
  isBilledByUnitsOnly,
  maximumRatesFor,
  type ServiceTerms,
  type Tariff,
  unitParts,
  unpricedUnits,
} from '../kernel/rate-modifiers.ts';
import { wordPattern } from '../kernel/service-words.ts';
import type { HeldService } from './holds/hold.ts';
import { tokens, tokensMax } from './scope.ts';

/** Options of a field with the name of a tier, a region or a capability. */
export const serviceWord = {
  pattern: wordPattern,
  [formatMessage]:
    'Must be lowercase letters, digits, dots, hyphens and underscores, starting with a letter or digit.',
  maxLength: 64,
};

export const serviceTier = Type.String({
  ...serviceWord,
  examples: ['priority'],
  description:
    'The service tier of the provider, such as `batch`, `flex` or `priority`: selects the rates of the price. `auto`, `default`, ' +
    '`standard` and tiers that the price does not have mean the flat rates. Providers report the tier that they used, which may ' +
    'differ from the requested one.',
});
export const servedRegion = Type.String({
  ...serviceWord,
  examples: ['us'],
  description:
    'The region in which the model is served: selects the rates of the price, if it has any for the region.',
});
export const cacheWrite1hTokens = Type.Integer({
  ...tokens,
  description:
    'Tokens written to a cache for one hour. Part of `input_tokens`, and not included in `cache_write_tokens`.',
});

export const unitName = Type.String({
  pattern: '^[a-z][a-z0-9_]*(:[A-Za-z0-9._/-]+)?$',
  [formatMessage]: 'Must be a unit, such as web_search or tool:lookup.',
  maxLength: 64,
});
/** Maximum number of units of a price. */
export const unitsMax = 64;
/** Maximum number of different units of a run, so that a decision with all its fields fits into 64 KiB. */
const unitsPerRunMax = 32;

/** Not a `Type.Record`, which cannot limit the length of names. */
export const unitCounts = Type.Unsafe<Record<string, number>>({
  type: 'object',
  propertyNames: unitName,
  additionalProperties: { type: 'integer', minimum: 0, maximum: tokensMax },
  maxProperties: unitsPerRunMax,
  examples: [{ web_search: 3 }],
  description:
    'Whole numbers of other units that the price charges, by name: `web_search`, `second`, `character`, `page`, `tool:<name>` …',
});

export const serviceFields = {
  service_tier: Type.Optional(serviceTier),
  region: Type.Optional(servedRegion),
  cache_write_1h_tokens: Type.Optional(cacheWrite1hTokens),
  units: Type.Optional(unitCounts),
};

export interface ServiceInput {
  readonly service_tier?: string | null;
  readonly region?: string | null;
  readonly units?: Readonly<Record<string, number>> | null;
}

export function serviceTermsOf({ service_tier, region }: ServiceInput): ServiceTerms {
  return service_tier == null && region == null
    ? notStated
    : { tier: service_tier ?? null, region: region ?? null };
}

const notStated: ServiceTerms = { tier: null, region: null };

/**
 * Returns the service to store in a hold. Returns undefined if the rates of the price do not depend on it. Returns undefined also
 * for a request that states tokens only, because the hold has these tokens.
 */
export function heldServiceOf(
  tariff: Tariff | undefined,
  input: ServiceInput & { readonly input_tokens?: number },
): HeldService | undefined {
  const isUsual = input.service_tier == null && input.region == null && input.input_tokens !== undefined;
  if (tariff === undefined || tariff.modifiers.length === 0 || isUsual) {
    return undefined;
  }
  return {
    ...(input.service_tier != null && { tier: input.service_tier }),
    ...(input.region != null && { region: input.region }),
    ...(input.input_tokens !== undefined && { inputTokens: input.input_tokens }),
  };
}

/** Returns the highest rates that a request may be charged at; undefined if the model has no price. */
export function requestedRates(
  tariff: Tariff | undefined,
  input: ServiceInput,
  inputTokens: bigint,
): Rates | undefined {
  return tariff && maximumRatesFor(tariff, serviceTermsOf(input), inputTokens);
}

/** Returns the charges of a request besides tokens at the highest rate. Units without a price are left out. */
export function otherChargesOf(
  tariff: Tariff | undefined,
  input: ServiceInput & { readonly images?: number; readonly cache_write_1h_tokens?: number },
): OtherCharges {
  return {
    images: BigInt(input.images ?? 0),
    cacheWrite1hTokens: BigInt(input.cache_write_1h_tokens ?? 0),
    unitNanos:
      tariff === undefined || input.units == null ? 0n : nanosOfParts(unitParts(tariff, input.units)),
  };
}

/** Returns an error for each unit without a price. If the price charges only units and the request has none, returns the error for that. */
export function unitErrors(tariff: Tariff, input: ServiceInput): readonly FieldError[] {
  if (isUnitMissing(tariff, input)) {
    const names = [...tariff.unitNanos.keys()].join('`, `');
    const message = `This model is charged by units alone: \`${names}\`. Provide them, or the cost.`;
    return [{ field: 'units', code: 'required', message }];
  }
  return input.units == null
    ? noErrors
    : unpricedUnits(tariff, input.units).map((name) => ({
        field: `units.${name}`,
        code: 'invalid_value',
        message: 'This unit has no price. Set one, or provide the cost.',
      }));
}

const noErrors: readonly FieldError[] = [];

/** Returns true if the price charges only units and the request has none. */
export function isUnitMissing(tariff: Tariff, { units }: ServiceInput): boolean {
  return isBilledByUnitsOnly(tariff) && Object.keys(units ?? {}).length === 0;
}
