/**
 * The catalog of models that comes with a release: prices, names and capabilities, each with its source and date. Made by
 * `scripts/catalog`. `priceOf` (catalog-price.ts) turns an entry into a price.
 */
import { readFileSync } from 'node:fs';
import type { RateField } from './rates.ts';

export type CatalogRates = { readonly [Field in RateField | 'cache_write_1h_usd_per_million']?: string };

export interface CatalogModel {
  readonly model: string;
  readonly provider: string;
  /** Other names of the model, and patterns of names. */
  readonly aliases?: readonly string[];
  readonly patterns?: readonly string[];
  /** Key in `sources`. */
  readonly source: string;
  /** Date on which the source had these figures. */
  readonly as_of: string;
  readonly source_url?: string;
  /** Flat rates. Left out for models that are only billed by other units. */
  readonly rates?: CatalogRates;
  /** Rates of service tiers, or a factor for all rates. */
  readonly tiers?: Readonly<Record<string, CatalogRates & { readonly multiplier?: string }>>;
  /** Rates above a number of input tokens. They include those of tiers if the source has them. */
  readonly long_context?: readonly (CatalogRates & {
    readonly above_input_tokens: number;
    readonly tiers?: Readonly<Record<string, CatalogRates>>;
  })[];
  /** Factors for all rates, by region. */
  readonly regions?: Readonly<Record<string, string>>;
  /** US dollars per unit, such as `second` or `web_search`. */
  readonly units?: Readonly<Record<string, string>>;
  /** Maximum input in the lists. For some models it is less than the context. */
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

/**
 * When prices of the catalog take effect, and the time at which their versions count as created. Earlier than any price that
 * an operator is likely to set; an earlier one would apply only until this instant.
 */
export const catalogStart = new Date('2020-01-01T00:00:00.000Z');

/** Returns the name of an entry's price list with its date, in the form that versions store. */
export function sourceOf({ sources }: Catalog, { source, as_of }: CatalogModel): string {
  return `${sources[source]?.name ?? source}, as of ${as_of}`;
}

/** The relative path is correct both from this file in `src` and from the bundle in `dist`. */
export const catalogFile = new URL('../../../../assets/catalog.json', import.meta.url);

export function readCatalog(): Catalog {
  return JSON.parse(readFileSync(catalogFile, 'utf8')) as Catalog;
}
