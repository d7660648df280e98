/**
 * Modifiers of a price: rates for a service tier, a region, long inputs or one-hour cache writes. Modifiers apply in order, so
 * later ones win. Most prices have no modifiers; their flat rates are returned without further work.
 */
import { type CostPart, type CostParts, codeOfUnit } from './cost-parts.ts';
import { discounted, discountedAmount, divideUp, type Rates } from './prices.ts';

/** A condition that is null is always met. */
export interface RateConditions {
  readonly tier: string | null;
  /** `regional` is met by every region but `global`: clouds charge more for calls that stay in a region, whichever it is. */
  readonly region: string | null;
  /** Met by runs with more input tokens than this. The modifier then applies to all of their tokens. */
  readonly aboveInputTokens: bigint | null;
  /** Met only by the tokens that are written to a cache for one hour. */
  readonly cacheWriteTtl: '1h' | null;
}

export interface RateModifier {
  readonly when: RateConditions;
  /** The rates that the modifier replaces. */
  readonly rates: Partial<Rates>;
  /** Factor for all rates after earlier modifiers, in billionths; null: none. */
  readonly multiplierBillionths: bigint | null;
}

/** The terms of a price version. */
export interface Tariff {
  readonly rates: Rates;
  readonly modifiers: readonly RateModifier[];
  /** Nanodollars per unit, by the name of the unit. */
  readonly unitNanos: ReadonlyMap<string, bigint>;
  /** True if units without a price are free instead of an error. */
  readonly hasFreeUnits?: boolean;
}

/** The tier and region that serve a run. Unknown ones are allowed: no modifier matches them. */
export interface ServiceTerms {
  readonly tier: string | null;
  readonly region: string | null;
}

export const billionths = 1_000_000_000n;

/** Returns the rates of a run with this number of input tokens. */
export function ratesFor(tariff: Tariff, terms: ServiceTerms, inputTokens: bigint): Rates {
  if (tariff.modifiers.length === 0) {
    return tariff.rates;
  }
  const cache = cacheOf(tariff);
  const bracket = bracketOf(cache, inputTokens);
  const index = indexOf(cache, terms, bracket);
  let rates = cache.actual[index];
  if (rates === undefined) {
    // Any number of tokens in the bracket has the same rates.
    const inBracket = bracket === 0 ? 0n : (cache.thresholds[bracket - 1] as bigint) + 1n;
    rates = modifiedRates(tariff, terms, inBracket);
    cache.actual[index] = rates;
  }
  return rates;
}

/**
 * Returns the highest rates that a run with at most this number of input tokens may have. Each rate is maximized separately,
 * because the rates of long inputs may be lower than the flat ones.
 */
export function maximumRatesFor(tariff: Tariff, terms: ServiceTerms, inputTokensMax: bigint): Rates {
  if (tariff.modifiers.length === 0) {
    return tariff.rates;
  }
  const cache = cacheOf(tariff);
  const bracket = bracketOf(cache, inputTokensMax);
  const index = indexOf(cache, terms, bracket);
  let highest = cache.maximum[index];
  if (highest === undefined) {
    highest = ratesFor(tariff, terms, 0n);
    for (const threshold of cache.thresholds.slice(0, bracket)) {
      highest = higherRates(highest, ratesFor(tariff, terms, threshold + 1n));
    }
    cache.maximum[index] = highest;
  }
  return highest;
}

export type UnitCounts = Readonly<Record<string, number>>;

/**
 * Returns the price of a unit. A kind of search without a price, such as `web_search:high`, has that of `web_search`. Kinds of other units,
 * such as larger containers, may cost many times as much.
 */
function nanosOfUnit({ unitNanos }: Tariff, name: string): bigint | undefined {
  return unitNanos.get(name) ?? (name.startsWith('web_search:') ? unitNanos.get('web_search') : undefined);
}

/** Returns the cost of the units that the price has. */
export function unitParts(tariff: Tariff, units: UnitCounts): CostParts {
  const parts: CostPart[] = [];
  for (const [name, count] of Object.entries(units)) {
    const each = nanosOfUnit(tariff, name);
    if (each !== undefined && count > 0) {
      const quantity = BigInt(count);
      parts.push({ code: codeOfUnit(name), quantity, nanos: quantity * each });
    }
  }
  return parts;
}

/** Returns the names of the units that cannot be charged. */
export function unpricedUnits(tariff: Tariff, units: UnitCounts): readonly string[] {
  return tariff.hasFreeUnits === true
    ? []
    : Object.keys(units).filter((name) => nanosOfUnit(tariff, name) === undefined);
}

/** Returns true if the price charges nothing except units, so that a run without units has no usage. */
export function isBilledByUnitsOnly({ rates, unitNanos }: Tariff): boolean {
  // The first condition is the one that fails for most models; this is called for every decision.
  return (
    rates.inputNanosPerMillion === 0n &&
    unitNanos.size > 0 &&
    Object.values(rates).every((rate) => rate === null || rate === 0n)
  );
}

/** Returns the tariff after a discount. Multipliers stay the same, because they apply to the discounted rates. */
export function discountedTariff({ rates, modifiers, unitNanos }: Tariff, basisPoints: bigint): Tariff {
  const reduce = (nanos: bigint) => discountedAmount(nanos, basisPoints);
  return {
    rates: discounted(rates, basisPoints),
    modifiers: modifiers.map((one) => ({ ...one, rates: mapRates(one.rates, reduce) })),
    unitNanos: new Map([...unitNanos].map(([name, nanos]) => [name, reduce(nanos)])),
  };
}

const regional = 'regional';

function isRegional(region: string | null): boolean {
  return region !== null && region !== 'global';
}

/** Returns the rates after all modifiers whose conditions hold for these terms and input tokens. */
function modifiedRates(tariff: Tariff, terms: ServiceTerms, inputTokens: bigint): Rates {
  const rates = applied(tariff, terms, inputTokens, false);
  if (!tariff.modifiers.some(({ when }) => when.cacheWriteTtl !== null)) {
    return rates;
  }
  const written = applied(tariff, terms, inputTokens, true);
  return {
    ...rates,
    cacheWrite1hNanosPerMillion: written.cacheWriteNanosPerMillion ?? written.inputNanosPerMillion,
  };
}

function applied(
  { rates: flat, modifiers }: Tariff,
  { tier, region }: ServiceTerms,
  inputTokens: bigint,
  forOneHour: boolean,
): Rates {
  let rates = flat;
  for (const { when, rates: replaced, multiplierBillionths } of modifiers) {
    const isMet =
      (when.tier === null || when.tier === tier) &&
      (when.region === null || when.region === region || (when.region === regional && isRegional(region))) &&
      (when.aboveInputTokens === null || inputTokens > when.aboveInputTokens) &&
      (when.cacheWriteTtl === null || forOneHour);
    if (isMet) {
      rates = { ...rates, ...replaced };
      rates = multiplierBillionths === null ? rates : multiplied(rates, multiplierBillionths);
    }
  }
  return rates;
}

/** Each rate is rounded up to a whole nanodollar, like a discounted rate. */
function multiplied(rates: Rates, multiplierBillionths: bigint): Rates {
  return mapRates(rates, (rate) => divideUp(rate * multiplierBillionths, billionths));
}

/** Applies a function to every rate that exists. */
function mapRates<Some extends Partial<Rates>>(rates: Some, change: (rate: bigint) => bigint): Some {
  const entries = Object.entries(rates).map(([name, rate]) => [name, rate == null ? rate : change(rate)]);
  return Object.fromEntries(entries) as Some;
}

/**
 * Returns the higher of each rate. A missing rate is replaced by the rate that is charged in its place, so the result is never
 * below either.
 */
function higherRates(one: Rates, other: Rates): Rates {
  const [a, b] = [completeRates(one), completeRates(other)];
  return Object.fromEntries(
    Object.entries(a).map(([name, rate]) => {
      const compared = b[name as keyof Rates] as bigint;
      return [name, rate > compared ? rate : compared];
    }),
  ) as unknown as Rates;
}

function completeRates(rates: Rates): { readonly [Name in keyof Rates]-?: bigint } {
  const input = rates.inputNanosPerMillion;
  const output = rates.outputNanosPerMillion ?? 0n;
  const cached = rates.cachedInputNanosPerMillion ?? input;
  const cacheWrite = rates.cacheWriteNanosPerMillion ?? input;
  return {
    inputNanosPerMillion: input,
    cachedInputNanosPerMillion: cached,
    cachedImageInputNanosPerMillion: rates.cachedImageInputNanosPerMillion ?? cached,
    cacheWriteNanosPerMillion: cacheWrite,
    cacheWrite1hNanosPerMillion: rates.cacheWrite1hNanosPerMillion ?? cacheWrite,
    outputNanosPerMillion: output,
    audioInputNanosPerMillion: rates.audioInputNanosPerMillion ?? input,
    imageInputNanosPerMillion: rates.imageInputNanosPerMillion ?? input,
    audioOutputNanosPerMillion: rates.audioOutputNanosPerMillion ?? output,
    imageNanosEach: rates.imageNanosEach ?? 0n,
    requestNanosEach: rates.requestNanosEach ?? 0n,
  };
}

/** Computed rates of a tariff, by `indexOf`. Their number is bounded by the tiers, regions and thresholds of its modifiers. */
interface RatesCache {
  /** Index of each tier, from 1. Zero stands for any other tier. */
  readonly tiers: ReadonlyMap<string, number>;
  readonly regions: ReadonlyMap<string, number>;
  /** In ascending order. */
  readonly thresholds: readonly bigint[];
  readonly actual: (Rates | undefined)[];
  readonly maximum: (Rates | undefined)[];
}

const caches = new WeakMap<Tariff, RatesCache>();

function cacheOf(tariff: Tariff): RatesCache {
  const existing = caches.get(tariff);
  if (existing !== undefined) {
    return existing;
  }
  const conditions = tariff.modifiers.map(({ when }) => when);
  const thresholds = new Set(conditions.flatMap(({ aboveInputTokens }) => aboveInputTokens ?? []));
  const cache: RatesCache = {
    tiers: numbered(conditions.flatMap(({ tier }) => tier ?? [])),
    regions: numbered(conditions.flatMap(({ region }) => region ?? [])),
    thresholds: [...thresholds].sort((a, b) => (a < b ? -1 : 1)),
    actual: [],
    maximum: [],
  };
  caches.set(tariff, cache);
  return cache;
}

/** Returns the number of thresholds that the input exceeds. */
function bracketOf({ thresholds }: RatesCache, inputTokens: bigint): number {
  let bracket = 0;
  while (bracket < thresholds.length && inputTokens > (thresholds[bracket] as bigint)) {
    bracket += 1;
  }
  return bracket;
}

/** Returns the index of the rates in the cache. A number is faster to compute than a string key, and this runs for every decision. */
function indexOf({ tiers, regions, thresholds }: RatesCache, terms: ServiceTerms, bracket: number): number {
  const tier = terms.tier === null ? 0 : (tiers.get(terms.tier) ?? 0);
  const region =
    terms.region === null ? 0 : (regions.get(terms.region) ?? regionalIndex(regions, terms.region));
  return (tier * (regions.size + 1) + region) * (thresholds.length + 1) + bracket;
}

/** Returns the index of a region that no condition names. All such regions have the same rates. */
function regionalIndex(regions: ReadonlyMap<string, number>, region: string): number {
  return isRegional(region) ? (regions.get(regional) ?? 0) : 0;
}

function numbered(words: readonly string[]): Map<string, number> {
  return new Map([...new Set(words)].map((word, index) => [word, index + 1]));
}
