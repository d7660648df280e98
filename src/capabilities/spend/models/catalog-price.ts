/** Turns an entry of the catalog into a price: flat rates, modifiers and unit prices. */
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import type { CatalogModel, CatalogRates } from './catalog.ts';
import type { ModifierRequest, PriceRequest, RateField, SomeRates } from './rates.ts';

/**
 * Returns the price of a model; undefined if the entry has no rates. The order of the modifiers matters, because later ones win:
 * tiers, long contexts, both together, one-hour cache writes. Factors come last, because they apply to all rates before them.
 */
export function priceOf(entry: CatalogModel): PriceRequest | undefined {
  const { rates = {}, tiers = {}, long_context = [], regions = {}, units = {} } = entry;
  const isUnitPriced = Object.keys(units).length > 0;
  if (rates.input_usd_per_million === undefined && rates.image_usd === undefined && !isUnitPriced) {
    return undefined;
  }
  const kept = (of: CatalogRates) => expressibleRates(entry, of);
  const modifiers: ModifierRequest[] = [];
  const add = (conditions: ModifierRequest, replaced: SomeRates) => {
    if (Object.keys(replaced).length > 0) {
      modifiers.push({ ...conditions, ...replaced });
    }
  };
  const brackets = long_context
    // Sorted, because sources have the brackets in any order, and the bracket of the longest context must win.
    .toSorted((a, b) => a.above_input_tokens - b.above_input_tokens)
    .map((above) => ({
      ...above,
      ofTiers: Object.entries(tiers).map(
        ([tier, of]) => [tier, combined(rates, above, of, above.tiers?.[tier])] as const,
      ),
    }));
  for (const [tier, of] of Object.entries(tiers)) {
    add({ tier }, kept(of));
  }
  for (const above of brackets) {
    const { above_input_tokens } = above;
    add({ above_input_tokens }, kept(above));
    for (const [tier, of] of above.ofTiers) {
      add({ tier, above_input_tokens }, kept(of));
    }
  }
  const addOneHour = (conditions: ModifierRequest, of: CatalogRates) =>
    add({ ...conditions, cache_write_ttl: '1h' }, oneHourRate(rates, of));
  addOneHour({}, rates);
  for (const [tier, of] of Object.entries(tiers)) {
    addOneHour({ tier }, of);
  }
  for (const above of brackets) {
    const { above_input_tokens } = above;
    addOneHour({ above_input_tokens }, above);
    for (const [tier, of] of above.ofTiers) {
      addOneHour({ tier, above_input_tokens }, of);
    }
  }
  for (const [tier, { multiplier }] of Object.entries(tiers)) {
    if (multiplier !== undefined) {
      modifiers.push({ tier, multiplier });
    }
  }
  for (const [region, multiplier] of Object.entries(regions)) {
    modifiers.push({ region, multiplier });
  }
  return {
    ...kept(rates),
    input_usd_per_million: rates.input_usd_per_million ?? '0',
    ...(modifiers.length > 0 && { modifiers }),
    ...(isUnitPriced && { units }),
  };
}

/**
 * Returns the rates that the price can have. Audio and image rates of text models are left out, because they would increase the hold of
 * every text run. Models of embeddings keep them: their calls are short, and audio costs up to 32 times as much as text.
 */
function expressibleRates({ model, capabilities = [] }: CatalogModel, rates: CatalogRates): SomeRates {
  const isAudio = capabilities.includes('audio') && /audio|realtime|live|tts|transcribe|voxtral/.test(model);
  const fields =
    isAudio || capabilities.includes('embeddings')
      ? [...textFields, ...audioFields, ...imageFields]
      : capabilities.includes('images')
        ? [...textFields, ...imageFields]
        : textFields;
  // A loop, because each start does this for thousands of rates, and it takes a third of the time of `Object.fromEntries`.
  const chosen: { [Field in RateField]?: string } = {};
  for (const field of fields) {
    const rate = rates[field];
    if (rate !== undefined) {
      chosen[field] = rate;
    }
  }
  return chosen;
}

const textFields: readonly RateField[] = [
  'input_usd_per_million',
  'cached_input_usd_per_million',
  'cache_write_usd_per_million',
  'output_usd_per_million',
  'image_usd',
  'request_usd',
];
const audioFields: readonly RateField[] = ['audio_input_usd_per_million', 'audio_output_usd_per_million'];
const imageFields: readonly RateField[] = [
  'image_input_usd_per_million',
  'cached_image_input_usd_per_million',
];

/**
 * Returns the rates of a tier in a long context. A missing rate is derived: as in the providers' price lists, the tier costs the
 * same fraction of the long-context rate as of the flat rate.
 */
function combined(
  flat: CatalogRates,
  above: CatalogRates,
  tier: CatalogRates,
  stated: CatalogRates = {},
): CatalogRates {
  const fields = [...textFields, ...audioFields, ...imageFields, 'cache_write_1h_usd_per_million' as const];
  return Object.fromEntries(
    fields.flatMap((field) => {
      const rate = stated[field] ?? scaled(above[field], tier[field], flat[field]);
      return rate === undefined ? [] : [[field, rate]];
    }),
  );
}

/** Returns the rate of one-hour cache writes. A missing rate is derived from that of shorter writes. */
function oneHourRate(flat: CatalogRates, of: CatalogRates): SomeRates {
  const rate =
    of.cache_write_1h_usd_per_million ??
    scaled(
      flat.cache_write_1h_usd_per_million,
      of.cache_write_usd_per_million,
      flat.cache_write_usd_per_million,
    );
  return rate === undefined ? {} : { cache_write_usd_per_million: rate };
}

/** Returns `rate` × `numerator` ÷ `denominator`, rounded up to a nanodollar; undefined if one is unknown or the denominator is zero. */
function scaled(
  rate: string | undefined,
  numerator: string | undefined,
  denominator: string | undefined,
): string | undefined {
  const [amount, by, over] = [rate, numerator, denominator].map((text) => parseUsd(text ?? ''));
  if (amount === undefined || by === undefined || over === undefined || over === 0n) {
    return undefined;
  }
  return formatUsd((amount * by + over - 1n) / over);
}
