/**
 * The catalogue of models that comes with a release: prices, names and capabilities, each with its source and date. Made by
 * `scripts/catalog`. Tiers, long contexts and units are not used for costs yet.
 */
import { readFileSync } from 'node:fs';
import type { RateField, RateRequest } from './rates.ts';

export type CatalogRates = { readonly [Field in RateField | 'cache_write_1h_usd_per_million']?: string };

export interface CatalogModel {
  readonly model: string;
  readonly provider: string;
  /** Other names of the model, and patterns of names. */
  readonly aliases?: readonly string[];
  readonly patterns?: readonly string[];
  /** Key of `sources`. */
  readonly source: string;
  /** The date at which the source had these figures. */
  readonly as_of: string;
  readonly source_url?: string;
  /** Left out for models that are only billed by other units. */
  readonly rates?: CatalogRates;
  readonly tiers?: { readonly [Tier in 'batch' | 'flex' | 'priority']?: CatalogRates };
  readonly long_context?: readonly (CatalogRates & { readonly above_input_tokens: number })[];
  /** US dollars per unit, for models that are not billed by token or image. */
  readonly units?: { readonly [Unit in 'second' | 'character' | 'page']?: string };
  /** The lists give the maximum input, which is less than the context for some models. */
  readonly context_tokens?: number;
  readonly max_output_tokens?: number;
  readonly capabilities?: readonly string[];
  readonly deprecated_on?: string;
}

export interface Catalog {
  readonly schema: 1;
  readonly date: string;
  readonly sources: Readonly<Record<string, { readonly name: string; readonly url: string }>>;
  readonly models: readonly CatalogModel[];
}

/** The relative path is the same from this file in `src` and from its place in `dist`. */
const file = new URL('../../../../assets/catalog.json', import.meta.url);

export function readCatalog(): Catalog {
  return JSON.parse(readFileSync(file, 'utf8')) as Catalog;
}

/**
 * Returns the rates that a price can express; undefined for models that are billed by a unit that prices do not have, such as
 * seconds: any price would be wrong. Audio rates of text models are left out, because they would increase the hold of every
 * text run.
 */
export function priceOf({ model, rates = {}, capabilities = [] }: CatalogModel): RateRequest | undefined {
  const {
    cache_write_1h_usd_per_million: _,
    audio_input_usd_per_million,
    audio_output_usd_per_million,
    ...flat
  } = rates;
  if (rates.input_usd_per_million === undefined && rates.image_usd === undefined) {
    return undefined;
  }
  const isAudio = capabilities.includes('audio') && /audio|realtime|live|tts|transcribe|voxtral/.test(model);
  return {
    ...flat,
    input_usd_per_million: flat.input_usd_per_million ?? '0',
    ...(isAudio && { audio_input_usd_per_million, audio_output_usd_per_million }),
  } as RateRequest;
}
