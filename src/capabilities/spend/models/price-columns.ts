/** Converts the terms of a price (rates, modifiers, unit prices) between their API form, their columns and the kernel's form. */
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import type { RateModifier, Tariff } from '../../../kernel/rate-modifiers.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import {
  columnsOf,
  type ModifierRequest,
  noRates,
  type PriceRequest,
  type RateColumns,
  type RateView,
  ratesOf,
  sameRates,
  someRatesOf,
  viewColumns,
  viewRates,
  viewSomeRates,
} from './rates.ts';

/** Modifiers and units are stored in the form of the API with normalized amounts; null if there are none. */
export interface PriceColumns extends RateColumns {
  readonly modifiers: readonly ModifierRequest[] | null;
  readonly units: Readonly<Record<string, string>> | null;
}

export type PriceTermsView = RateView & {
  modifiers: ModifierRequest[];
  units: Record<string, string>;
};

export const noPrice: PriceColumns = { ...noRates, modifiers: null, units: null };

export function priceColumnsOf(request: PriceRequest): PriceColumns {
  const { modifiers, units } = request;
  return {
    ...columnsOf(request),
    modifiers:
      modifiers == null || modifiers.length === 0
        ? null
        : modifiers.map((one) => viewModifier(modifierOf(one))),
    units: units == null || Object.keys(units).length === 0 ? null : viewUnits(unitNanosOf(units)),
  };
}

export function samePrice(one: PriceColumns, other: PriceColumns): boolean {
  return (
    sameRates(one, other) &&
    canonicalJson(one.modifiers) === canonicalJson(other.modifiers) &&
    canonicalJson(one.units) === canonicalJson(other.units)
  );
}

/** Returns the tariff of a row. Must only be called for rows with rates, like `ratesOf`. */
export function tariffOf(row: PriceColumns): Tariff {
  return {
    rates: ratesOf(row),
    modifiers: (row.modifiers ?? []).map(modifierOf),
    unitNanos: unitNanosOf(row.units ?? {}),
  };
}

export function viewPriceColumns(row: PriceColumns): PriceTermsView {
  return { ...viewColumns(row), modifiers: [...(row.modifiers ?? [])], units: { ...row.units } };
}

export function viewTariff({ rates, modifiers, unitNanos }: Tariff): PriceTermsView {
  return { ...viewRates(rates), modifiers: modifiers.map(viewModifier), units: viewUnits(unitNanos) };
}

function modifierOf(request: ModifierRequest): RateModifier {
  const { tier, region, above_input_tokens, cache_write_ttl, multiplier } = request;
  return {
    when: {
      tier: tier ?? null,
      region: region ?? null,
      aboveInputTokens: above_input_tokens === undefined ? null : BigInt(above_input_tokens),
      cacheWriteTtl: cache_write_ttl ?? null,
    },
    rates: someRatesOf(request),
    // Factors have nine decimals like amounts, so their integers are billionths.
    multiplierBillionths: multiplier === undefined ? null : (parseUsd(multiplier) ?? null),
  };
}

function viewModifier({ when, rates, multiplierBillionths }: RateModifier): ModifierRequest {
  return {
    ...(when.tier !== null && { tier: when.tier }),
    ...(when.region !== null && { region: when.region }),
    ...(when.aboveInputTokens !== null && { above_input_tokens: Number(when.aboveInputTokens) }),
    ...(when.cacheWriteTtl !== null && { cache_write_ttl: when.cacheWriteTtl }),
    ...viewSomeRates(rates),
    ...(multiplierBillionths !== null && { multiplier: formatUsd(multiplierBillionths) }),
  };
}

function unitNanosOf(units: Readonly<Record<string, string>>): Map<string, bigint> {
  return new Map(Object.entries(units).map(([name, amount]) => [name, parseUsd(amount) ?? 0n]));
}

function viewUnits(unitNanos: ReadonlyMap<string, bigint>): Record<string, string> {
  return Object.fromEntries([...unitNanos].map(([name, nanos]) => [name, formatUsd(nanos)]));
}
