/** Compares two prices field by field, with any fields: flat rates, units and lists of modifiers. Pure functions. */
import { parseUsd } from '../../../kernel/money.ts';

/** A price in the form of the API. */
export type PriceForm = Readonly<Record<string, unknown>>;

export interface RateDifference {
  /** Path of the rate, such as `input_usd_per_million` or `modifiers[tier=batch].output_usd_per_million`. */
  readonly rate: string;
  /** Amount before and after; null: there is no such rate. */
  readonly before: string | null;
  readonly after: string | null;
  /** Change of the charged amount, rounded to a tenth of a percent. Null if the amount was zero or has no counterpart. */
  readonly change_percent: number | null;
}

/** Percentage above which a change waits for an operator. */
export const largeChangePercent = 50;

/** The rate that replaces a missing one. A missing rate without an entry is free. */
const chargedAs: Readonly<Record<string, string>> = {
  cached_input_usd_per_million: 'input_usd_per_million',
  cache_write_usd_per_million: 'input_usd_per_million',
  cache_write_1h_usd_per_million: 'cache_write_usd_per_million',
  audio_input_usd_per_million: 'input_usd_per_million',
  image_input_usd_per_million: 'input_usd_per_million',
  cached_image_input_usd_per_million: 'cached_input_usd_per_million',
  audio_output_usd_per_million: 'output_usd_per_million',
};

export interface PriceDifference {
  readonly rates: readonly RateDifference[];
  /** True if the charged amount changes by more than `largeChangePercent`, or from or to zero. */
  readonly isLarge: boolean;
}

export function differenceBetween(before: PriceForm, after: PriceForm): PriceDifference {
  const old = amountsOf(before);
  const next = amountsOf(after);
  const hadModifiers = [...old.keys()].some(isOfModifier);
  const rates: RateDifference[] = [];
  let isLarge = false;
  for (const rate of new Set([...old.keys(), ...next.keys()])) {
    const was = old.get(rate);
    const becomes = next.get(rate);
    if (was !== undefined && becomes !== undefined && nanosOf(was) === nanosOf(becomes)) {
      continue;
    }
    const isNew = was === undefined && hasNoCounterpart(rate, hadModifiers);
    const from = charged(old, rate);
    const to = charged(next, rate);
    isLarge ||= !isNew && isLargeChange(from, to);
    rates.push({
      rate,
      before: was ?? null,
      after: becomes ?? null,
      change_percent: isNew ? null : percentOf(from, to),
    });
  }
  return { rates, isLarge };
}

/**
 * Returns true for a new unit and for the first modifiers of a price, because they had no price before. Further modifiers are
 * compared with the flat rate that was charged before. Otherwise a list that moves a threshold could change costs without limit.
 */
function hasNoCounterpart(rate: string, hadModifiers: boolean): boolean {
  return isOfUnit(rate) || (isOfModifier(rate) && !hadModifiers);
}

function isLargeChange(from: bigint, to: bigint): boolean {
  const change = to < from ? from - to : to - from;
  return change * 100n > from * BigInt(largeChangePercent);
}

function percentOf(from: bigint, to: bigint): number | null {
  return from === 0n ? null : Number(((to - from) * 1_000n) / from) / 10;
}

/** Returns the amount charged for a rate: its own, that of its replacement, or that of the flat price. */
function charged(amounts: ReadonlyMap<string, string>, rate: string): bigint {
  const own = amounts.get(rate);
  if (own !== undefined) {
    return nanosOf(own);
  }
  if (isOfUnit(rate)) {
    return 0n;
  }
  const instead = isOfModifier(rate) ? rate.slice(rate.lastIndexOf('.') + 1) : chargedAs[rate];
  if (instead === 'multiplier') {
    return nanosOf('1');
  }
  return instead === undefined ? 0n : charged(amounts, instead);
}

function isOfModifier(rate: string): boolean {
  return rate.startsWith('modifiers[');
}

function isOfUnit(rate: string): boolean {
  return rate.startsWith('units.');
}

function nanosOf(amount: string): bigint {
  return parseUsd(amount) ?? 0n;
}

/** Returns the amounts of a price by path. */
function amountsOf(price: PriceForm): Map<string, string> {
  const amounts = new Map<string, string>();
  const collect = (path: string, value: unknown) => {
    if (typeof value === 'string') {
      amounts.set(path, value);
    } else if (Array.isArray(value)) {
      for (const item of value) {
        collectItem(path, item);
      }
    } else if (value !== null && typeof value === 'object') {
      for (const [field, part] of Object.entries(value)) {
        collect(path === '' ? field : `${path}.${field}`, part);
      }
    }
  };
  const collectItem = (path: string, item: object) => {
    for (const [field, value] of Object.entries(item).filter(isAmount)) {
      collect(`${path}[${conditionsOf(item)}].${field}`, value);
    }
  };
  collect('', price);
  return amounts;
}

/** Returns the fields that identify a list item, such as a modifier: those that are not amounts, such as the tier. */
function conditionsOf(item: object): string {
  return Object.entries(item)
    .filter((field) => field[1] !== null && field[1] !== undefined && !isAmount(field))
    .map(([field, value]) => `${field}=${value}`)
    .sort()
    .join();
}

function isAmount([field]: readonly [string, unknown]): boolean {
  return /usd|multiplier/.test(field);
}

/** Returns the price with missing terms from `other`: rates, units, and list items with other conditions. */
export function withMissingTerms(price: PriceForm, other: PriceForm): PriceForm {
  const merged: Record<string, unknown> = { ...other };
  for (const [field, value] of Object.entries(price)) {
    const before = merged[field];
    if (value === null || value === undefined) {
      continue;
    }
    if (Array.isArray(value) && Array.isArray(before)) {
      merged[field] = withMissingItems(value, before);
    } else if (typeof value === 'object' && typeof before === 'object') {
      merged[field] = { ...before, ...value };
    } else {
      merged[field] = value;
    }
  }
  return Object.fromEntries(
    Object.entries(merged).filter(([, value]) => value !== null && value !== undefined),
  );
}

/**
 * Returns the items with missing ones from `others`. Later items win over earlier ones, so `others` keeps its order. A new item is
 * inserted before the first more specific one: rates of a higher threshold must win over those of a lower one, and factors over
 * rates.
 */
function withMissingItems(items: readonly Modifier[], others: readonly Modifier[]): Modifier[] {
  const kindOf = (item: Modifier) => `${conditionsOf(item)} ${'multiplier' in item}`;
  const listed = new Map(items.map((item) => [kindOf(item), item]));
  const known = new Set(others.map(kindOf));
  const merged = others.map((item) => listed.get(kindOf(item)) ?? item);
  for (const item of items.filter((one) => !known.has(kindOf(one)))) {
    const next = merged.findIndex((other) => isBefore(item, other));
    merged.splice(next === -1 ? merged.length : next, 0, item);
  }
  return merged;
}

type Modifier = Readonly<Record<string, unknown>>;

/** The order of modifiers in prices of a catalog. */
function isBefore(one: Modifier, other: Modifier): boolean {
  const [ranks, others] = [ranksOf(one), ranksOf(other)];
  const first = ranks.findIndex((rank, index) => rank !== others[index]);
  return first !== -1 && (ranks[first] as number) < (others[first] as number);
}

function ranksOf({ multiplier, cache_write_ttl, above_input_tokens, tier }: Modifier): number[] {
  return [
    Number(multiplier != null),
    Number(cache_write_ttl != null),
    Number(above_input_tokens ?? 0),
    Number(tier != null),
  ];
}
