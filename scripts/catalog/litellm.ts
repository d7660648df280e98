/** Converts entries of LiteLLM's `model_prices_and_context_window` JSON into entries of the catalogue. */
import type { CatalogModel, CatalogRates } from '../../src/capabilities/spend/models/catalog.ts';

export type LitellmEntry = Readonly<Record<string, unknown>>;

/** Provider in the catalogue, by `litellm_provider`, and the prefix of the name that is left out. */
const providers: Readonly<Record<string, { readonly provider: string; readonly prefix?: string }>> = {
  openai: { provider: 'openai' },
  'text-completion-openai': { provider: 'openai' },
  anthropic: { provider: 'anthropic' },
  gemini: { provider: 'google', prefix: 'gemini/' },
  'vertex_ai-language-models': { provider: 'google' },
  'vertex_ai-embedding-models': { provider: 'google' },
  mistral: { provider: 'mistral', prefix: 'mistral/' },
  deepseek: { provider: 'deepseek', prefix: 'deepseek/' },
  cohere: { provider: 'cohere', prefix: 'cohere/' },
  cohere_chat: { provider: 'cohere' },
};

const tokenRates: readonly (readonly [string, keyof CatalogRates])[] = [
  ['input_cost_per_token', 'input_usd_per_million'],
  ['cache_read_input_token_cost', 'cached_input_usd_per_million'],
  ['cache_creation_input_token_cost', 'cache_write_usd_per_million'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h_usd_per_million'],
  ['output_cost_per_token', 'output_usd_per_million'],
  ['input_cost_per_audio_token', 'audio_input_usd_per_million'],
  ['output_cost_per_audio_token', 'audio_output_usd_per_million'],
];
const tiers = { batch: '_batches', flex: '_flex', priority: '_priority', ultrafast: '_ultrafast' } as const;

/** Charged in addition to tokens. */
const addedUnits = {
  page: ['ocr_cost_per_page'],
  annotated_page: ['annotation_cost_per_page'],
  maps_query: ['google_maps_grounding_cost_per_query'],
} as const;
/** Charged instead of tokens: a model that has rates per token too is charged by these. */
const insteadOfTokens = {
  second: ['input_cost_per_second', 'output_cost_per_second', 'output_cost_per_video_per_second'],
  second_1080p: ['output_cost_per_second_1080p'],
  second_4k: ['output_cost_per_second_4k'],
  character: ['input_cost_per_character', 'output_cost_per_character'],
} as const;

const abilities = {
  audio: ['supports_audio_input', 'supports_audio_output'],
  json: ['supports_response_schema'],
  reasoning: ['supports_reasoning'],
  tools: ['supports_function_calling'],
  vision: ['supports_vision'],
} as const;
const abilityOfMode: Readonly<Record<string, string>> = {
  audio_speech: 'audio',
  audio_transcription: 'audio',
  embedding: 'embeddings',
  image_edit: 'images',
  image_generation: 'images',
};

/**
 * Returns undefined for entries of other providers, of searches, and for names that contain a size or quality of
 * images. Also for experiments that are free for now: a price of zero would let their runs pass every budget later.
 */
export function litellmModel(key: string, entry: LitellmEntry, asOf: string): CatalogModel | undefined {
  const known = providers[String(entry.litellm_provider)];
  const prefix = known?.prefix ?? '';
  const model = key.startsWith(prefix) ? key.slice(prefix.length) : key;
  if (known === undefined || model.includes('/') || entry.mode === 'search') {
    return undefined;
  }
  const rates = ratesOf(entry, '');
  const perQuery = usd(entry.input_cost_per_query);
  // Models with rates per token bill generated images as tokens.
  const image =
    entry.mode === 'image_generation' && Number(rates.output_usd_per_million ?? 0) === 0
      ? usd(entry.output_cost_per_image ?? entry.input_cost_per_image)
      : undefined;
  const amounts = [...Object.values(rates), image, perQuery].filter((amount) => amount !== undefined);
  if (amounts.length > 0 && amounts.every((amount) => Number(amount) === 0) && entry.mode !== 'moderation') {
    return undefined;
  }
  const longContext = thresholdsOf(entry).map((tokens) => {
    const suffix = `_above_${tokens / 1_000}k_tokens`;
    return clean({ above_input_tokens: tokens, ...ratesOf(entry, suffix), tiers: tiersOf(entry, suffix) });
  });
  const { fast, ...regions } = multipliersOf(entry);
  const hasTokenRates = [rates.input_usd_per_million, rates.output_usd_per_million].some(
    (rate) => Number(rate ?? 0) > 0,
  );
  return clean({
    model,
    provider: known.provider,
    source: 'litellm',
    as_of: asOf,
    source_url: typeof entry.source === 'string' ? entry.source : undefined,
    rates: clean({ ...rates, image_usd: image, request_usd: perQuery }),
    tiers: clean({ ...tiersOf(entry, ''), fast: clean({ multiplier: fast }) }),
    long_context: longContext,
    regions,
    units: clean({
      web_search: searchUnit(entry),
      ...unitsOf(entry, addedUnits),
      ...(!hasTokenRates && unitsOf(entry, insteadOfTokens)),
    }),
    context_tokens: count(entry.max_input_tokens),
    max_output_tokens: count(entry.max_output_tokens),
    capabilities: capabilitiesOf(entry),
    deprecated_on: typeof entry.deprecation_date === 'string' ? entry.deprecation_date : undefined,
  }) as CatalogModel;
}

/** US dollars per token as US dollars per million, to the nanodollar. */
export function perMillion(perToken: unknown): string | undefined {
  return typeof perToken === 'number' ? decimal(perToken * 1e6) : undefined;
}

function usd(amount: unknown): string | undefined {
  return typeof amount === 'number' ? decimal(amount) : undefined;
}

function decimal(amount: number): string {
  // Products such as 1.25e-7 × 1e6 are inexact in binary; prices have far fewer digits.
  const [whole, fraction = ''] = amount.toFixed(9).split('.');
  const digits = fraction.replace(/0+$/, '');
  return digits === '' ? (whole as string) : `${whole}.${digits}`;
}

function ratesOf(entry: LitellmEntry, suffix: string): CatalogRates {
  const rates: Record<string, string | undefined> = {};
  for (const [field, rate] of tokenRates) {
    rates[rate] = perMillion(entry[`${field}${suffix}`]);
  }
  const perImageToken = entry.output_cost_per_image_token;
  if (entry.mode === 'image_generation' && typeof perImageToken === 'number') {
    // Generated images are billed as output tokens, and are nearly all of the output. The list has no rate of images in batches
    // for most models: they cost half, like text.
    rates.output_usd_per_million =
      perMillion(entry[`output_cost_per_image_token${suffix}`]) ??
      (suffix === tiers.batch ? perMillion(perImageToken / 2) : undefined);
  }
  return clean(rates);
}

function tiersOf(entry: LitellmEntry, suffix: string): Record<string, CatalogRates> {
  return clean(
    Object.fromEntries(
      Object.entries(tiers).map(([tier, tierSuffix]) => [tier, ratesOf(entry, `${suffix}${tierSuffix}`)]),
    ),
  );
}

/** Returns factors of all rates by region, and that of Anthropic's fast mode as `fast`. */
function multipliersOf(entry: LitellmEntry): Record<string, string> {
  const specific = Object.entries((entry.provider_specific_entry ?? {}) as Record<string, unknown>);
  const regional = Object.entries(entry).flatMap(([field, value]) => {
    const region = /^regional_processing_uplift_multiplier_(\w+)$/.exec(field)?.[1];
    return region === undefined ? [] : [[region, value] as const];
  });
  const factors = [...specific, ...regional].map(([name, value]) => [name, usd(value) ?? '1'] as const);
  return Object.fromEntries(factors);
}

/** The list distinguishes sizes of the context, but all of them cost the same. */
function searchUnit(entry: LitellmEntry): string | undefined {
  const perQuery = entry.search_context_cost_per_query as Record<string, unknown> | undefined;
  return usd(perQuery?.search_context_size_medium);
}

function unitsOf(
  entry: LitellmEntry,
  units: Readonly<Record<string, readonly string[]>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(units).map(([unit, fields]) => [unit, unitOf(entry, fields)]));
}

function thresholdsOf(entry: LitellmEntry): number[] {
  const found = Object.keys(entry).flatMap((field) => /_above_(\d+)k_tokens$/.exec(field)?.[1] ?? []);
  return [...new Set(found.map((thousands) => Number(thousands) * 1_000))].sort((a, b) => a - b);
}

function unitOf(entry: LitellmEntry, fields: readonly string[]): string | undefined {
  return fields.map((field) => usd(entry[field])).find((amount) => amount !== undefined);
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}

function capabilitiesOf(entry: LitellmEntry): string[] {
  const able = Object.entries(abilities)
    .filter(([, fields]) => fields.some((field) => entry[field] === true))
    .map(([ability]) => ability);
  const ofMode = abilityOfMode[String(entry.mode)];
  return [...new Set(ofMode === undefined ? able : [...able, ofMode])].sort();
}

/** Removes undefined, empty lists and empty objects. */
export function clean<Value extends object>(value: Value): Value {
  const entries = Object.entries(value).filter(
    ([, part]) =>
      part !== undefined && !(typeof part === 'object' && part !== null && Object.keys(part).length === 0),
  );
  return Object.fromEntries(entries) as Value;
}
