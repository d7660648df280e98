/** Converts LiteLLM's `model_prices_and_context_window` JSON into entries of the catalog. */

import { offPeakTier } from '../../../kernel/off-peak-hours.ts';
import type { CatalogModel, CatalogRates } from '../models/index.ts';
import { clean, type FieldProblem, type FieldReader, readerOf } from './fields.ts';
import { createImport, hostProviders, type Imported, ownProviders, type SkipReason } from './selection.ts';

interface ListedProvider {
  /** The provider in the catalog. */
  readonly provider: string;
  /** The prefix of the names, which is left out. */
  readonly prefix?: string;
}

/** Vendors, by `litellm_provider`. */
const providers: Readonly<Record<string, ListedProvider>> = {
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
  xai: { provider: 'xai', prefix: 'xai/' },
  zai: { provider: 'zai', prefix: 'zai/' },
};

/** Hosts that have several words for `litellm_provider`, by the beginning of these. The names keep their prefixes. */
const hosts = ['azure', 'bedrock', 'fireworks_ai', 'vertex_ai'] as const;

/** Not the names of models: with the size of an image, the term of a commitment, or a class of models. */
const otherNames = /-x-\d|-month-commitment\/|^(together-ai|fireworks-ai)-/;

/** Keys of the list that are not models. */
const otherKeys = new Set(['sample_spec', 'fallback_generalizations']);

const tokenRates: readonly (readonly [string, keyof CatalogRates])[] = [
  ['input_cost_per_token', 'input_usd_per_million'],
  ['cache_read_input_token_cost', 'cached_input_usd_per_million'],
  ['cache_read_input_image_token_cost', 'cached_image_input_usd_per_million'],
  ['cache_creation_input_token_cost', 'cache_write_usd_per_million'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h_usd_per_million'],
  ['output_cost_per_token', 'output_usd_per_million'],
  ['input_cost_per_audio_token', 'audio_input_usd_per_million'],
  ['input_cost_per_image_token', 'image_input_usd_per_million'],
  ['output_cost_per_audio_token', 'audio_output_usd_per_million'],
];
const perMillion = 1e6;
const tiers = { batch: '_batches', flex: '_flex', priority: '_priority', ultrafast: '_ultrafast' } as const;

/** Units that are charged in addition to tokens. */
const addedUnits = {
  page: ['ocr_cost_per_page'],
  annotated_page: ['annotation_cost_per_page'],
  maps_query: ['google_maps_grounding_cost_per_query'],
} as const;
/** Units that are charged instead of tokens. A model that also has token rates is charged by these. */
const insteadOfTokens = {
  second: [
    'input_cost_per_second',
    'output_cost_per_second',
    'output_cost_per_video_per_second',
    'input_cost_per_video_per_second',
  ],
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
const abilityOfMode: ReadonlyMap<string, string> = new Map([
  ['audio_speech', 'audio'],
  ['audio_transcription', 'audio'],
  ['embedding', 'embeddings'],
  ['image_edit', 'images'],
  ['image_generation', 'images'],
]);

/** Returns the models of these providers. If names are equal, models of a provider's own API take precedence over those of other clouds. */
export function litellmModels(
  list: Readonly<Record<string, unknown>>,
  asOf: string,
  problems: FieldProblem[],
  selected: readonly string[] = [...ownProviders, ...hostProviders],
): Imported {
  const imported = createImport();
  const entries = Object.entries(list)
    .filter(([key]) => !otherKeys.has(key))
    .map(([key, value]) => ({ key, entry: readerOf(key, value, problems) }));
  const isOtherCloud = (entry: FieldReader) => entry.text('litellm_provider')?.startsWith('vertex_ai');
  for (const { key, entry } of entries.sort(
    (one, other) => Number(isOtherCloud(one.entry)) - Number(isOtherCloud(other.entry)),
  )) {
    imported.add(litellmModel(key, entry, asOf, selected));
  }
  return imported.result();
}

/**
 * Converts an entry. Skips searches, and names that contain a size or quality of images. Also skips experiments that are free for
 * now: with a price of zero, their runs would later pass every budget.
 */
function litellmModel(
  key: string,
  entry: FieldReader,
  asOf: string,
  selected: readonly string[],
): CatalogModel | SkipReason {
  const listed = entry.text('litellm_provider') ?? '';
  const known = providers[listed];
  const host = hosts.find((name) => listed.startsWith(name));
  const provider = known?.provider ?? host ?? listed;
  if (!selected.includes(provider)) {
    return 'other_provider';
  }
  const prefix = known?.prefix ?? '';
  const model = key.startsWith(prefix) ? key.slice(prefix.length) : key;
  const mode = entry.text('mode') ?? '';
  if ((known !== undefined && model.includes('/')) || mode === 'search' || otherNames.test(model)) {
    return 'not_a_model';
  }
  const rates = ratesOf(entry, mode, '');
  const isByToken = [rates.input_usd_per_million, rates.output_usd_per_million].some(
    (rate) => Number(rate ?? 0) > 0,
  );
  // The list has the price of a song as that of an image.
  const perSong = mode === 'chat' && !isByToken ? entry.usd('output_cost_per_image') : undefined;
  const perQuery = entry.usd('input_cost_per_query') ?? perSong;
  // Models with rates per token bill generated images as tokens.
  const image =
    (mode === 'image_generation' || mode === 'image_edit') && Number(rates.output_usd_per_million ?? 0) === 0
      ? (entry.usd('output_cost_per_image') ?? entry.usd('input_cost_per_image'))
      : undefined;
  const amounts = [...Object.values(rates), image, perQuery].filter((amount) => amount !== undefined);
  if (amounts.length > 0 && amounts.every((amount) => Number(amount) === 0) && mode !== 'moderation') {
    return 'free';
  }
  const longContext = thresholdsOf(entry).map((tokens) => {
    const suffix = `_above_${tokens / 1_000}k_tokens`;
    return clean({
      above_input_tokens: tokens,
      ...ratesOf(entry, mode, suffix),
      tiers: tiersOf(entry, mode, suffix),
    });
  });
  const { fast, ...regions } = multipliersOf(entry);
  return clean({
    model,
    provider,
    source: 'litellm',
    as_of: asOf,
    source_url: entry.text('source'),
    rates: clean({ ...rates, image_usd: image, request_usd: perQuery }),
    tiers: clean({
      ...tiersOf(entry, mode, ''),
      [offPeakTier]: ratesOf(entry.nested('off_peak_pricing'), mode, ''),
      fast: clean({ multiplier: fast }),
    }),
    long_context: longContext,
    regions,
    units: clean({
      ...searchUnits(entry.nested('search_context_cost_per_query'), provider),
      ...unitsOf(entry, addedUnits),
      ...(!isByToken && unitsOf(entry, insteadOfTokens)),
    }),
    context_tokens: entry.count('max_input_tokens'),
    max_output_tokens: entry.count('max_output_tokens'),
    capabilities: capabilitiesOf(entry, mode),
    deprecated_on: entry.date('deprecation_date'),
  }) as CatalogModel;
}

function ratesOf(entry: FieldReader, mode: string, suffix: string): CatalogRates {
  const rates: Record<string, string | undefined> = {};
  for (const [field, rate] of tokenRates) {
    rates[rate] = entry.usd(`${field}${suffix}`, perMillion);
  }
  if (mode === 'image_generation' && entry.has('output_cost_per_image_token')) {
    // Generated images are billed as output tokens and are nearly all of the output. For most models the list has no batch rate of
    // images; they cost half in batches, like text.
    rates.output_usd_per_million =
      entry.usd(`output_cost_per_image_token${suffix}`, perMillion) ??
      (suffix === tiers.batch ? entry.usd('output_cost_per_image_token', perMillion / 2) : undefined);
  }
  return clean(rates);
}

function tiersOf(entry: FieldReader, mode: string, suffix: string): Record<string, CatalogRates> {
  const found = Object.entries(tiers).map(([tier, tierSuffix]) => [
    tier,
    ratesOf(entry, mode, `${suffix}${tierSuffix}`),
  ]);
  return clean(Object.fromEntries(found));
}

/** Returns the factors for all rates by region. The factor of Anthropic's fast mode has the name `fast`. */
function multipliersOf(entry: FieldReader): Record<string, string> {
  const specific = entry.nested('provider_specific_entry');
  const regional = entry.names().flatMap((field) => {
    const region = /^regional_processing_uplift_multiplier_(\w+)$/.exec(field)?.[1];
    return region === undefined ? [] : [[region, entry.usd(field) ?? '1'] as const];
  });
  return Object.fromEntries([
    // Other names are settings of a host.
    ...specific
      .names()
      .filter((name) => /^(fast|[a-z]{2})$/.test(name))
      .map((name) => [name, specific.usd(name) ?? '1'] as const),
    ...regional,
  ]);
}

function unitsOf(
  entry: FieldReader,
  units: Readonly<Record<string, readonly string[]>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(units).map(([unit, fields]) => [unit, unitOf(entry, fields)]));
}

/** Returns the price of a search, and those of its context sizes if they differ. Perplexity alone has the smallest size by default. */
function searchUnits(costs: FieldReader, provider: string): Record<string, string | undefined> {
  const [low, medium, high] = ['low', 'medium', 'high'].map((size) =>
    costs.usd(`search_context_size_${size}`),
  );
  const web_search = provider === 'perplexity' ? low : medium;
  return low === medium && medium === high
    ? { web_search }
    : { web_search, 'web_search:low': low, 'web_search:medium': medium, 'web_search:high': high };
}

function thresholdsOf(entry: FieldReader): number[] {
  const found = entry.names().flatMap((field) => /_above_(\d+)k_tokens$/.exec(field)?.[1] ?? []);
  return [...new Set(found.map((thousands) => Number(thousands) * 1_000))].sort((a, b) => a - b);
}

function unitOf(entry: FieldReader, fields: readonly string[]): string | undefined {
  return fields.map((field) => entry.usd(field)).find((amount) => amount !== undefined);
}

function capabilitiesOf(entry: FieldReader, mode: string): string[] {
  const able = Object.entries(abilities)
    .filter(([, fields]) => fields.some((field) => entry.flag(field)))
    .map(([ability]) => ability);
  const ofMode = abilityOfMode.get(mode);
  return [...new Set(ofMode === undefined ? able : [...able, ofMode])].sort();
}
