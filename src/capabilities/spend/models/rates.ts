/** Converts rates between the form of the API, their columns, and the form of the kernel. */
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import type { Rates } from '../../../kernel/prices.ts';

const rateNames = [
  ['inputNanosPerMillion', 'input_nanos_per_million', 'input_usd_per_million'],
  ['cachedInputNanosPerMillion', 'cached_input_nanos_per_million', 'cached_input_usd_per_million'],
  [
    'cachedImageInputNanosPerMillion',
    'cached_image_input_nanos_per_million',
    'cached_image_input_usd_per_million',
  ],
  ['cacheWriteNanosPerMillion', 'cache_write_nanos_per_million', 'cache_write_usd_per_million'],
  ['outputNanosPerMillion', 'output_nanos_per_million', 'output_usd_per_million'],
  ['audioInputNanosPerMillion', 'audio_input_nanos_per_million', 'audio_input_usd_per_million'],
  ['imageInputNanosPerMillion', 'image_input_nanos_per_million', 'image_input_usd_per_million'],
  ['audioOutputNanosPerMillion', 'audio_output_nanos_per_million', 'audio_output_usd_per_million'],
  ['imageNanosEach', 'image_nanos_each', 'image_usd'],
  ['requestNanosEach', 'request_nanos_each', 'request_usd'],
] as const satisfies readonly (readonly [keyof Rates, string, string])[];

type RateName = (typeof rateNames)[number];
export type RateColumn = RateName[1];
export type RateField = RateName[2];

export const rateColumns: readonly RateColumn[] = rateNames.map(([, column]) => column);
export const rateFields: readonly RateField[] = rateNames.map(([, , field]) => field);

export type RateColumns = { readonly [Column in RateColumn]: bigint | null };
export type RateView = { [Field in RateField]: string | null };
/** Rates in a validated body. A rate that is left out or null does not exist. */
export type RateRequest = { readonly [Field in RateField]?: string | null };

/** Rates, or a factor for all rates, for runs that meet all stated conditions. */
export interface ModifierRequest extends SomeRates {
  readonly tier?: string;
  readonly above_input_tokens?: number;
  readonly cache_write_ttl?: '1h';
  readonly region?: string;
  readonly multiplier?: string;
}

export type SomeRates = { readonly [Field in RateField]?: string };

/** A price in the form of a request body, without its start. */
export interface PriceRequest extends RateRequest {
  readonly modifiers?: readonly ModifierRequest[] | null;
  /** US dollars per unit, by name. */
  readonly units?: Readonly<Record<string, string>> | null;
}

export const noRates = Object.fromEntries(rateColumns.map((column) => [column, null])) as RateColumns;

export function columnsOf(request: RateRequest): RateColumns {
  const entries = rateNames.map(([, column, field]) => [column, parseUsd(request[field] ?? '') ?? null]);
  return Object.fromEntries(entries) as RateColumns;
}

export function sameRates(one: RateColumns, other: RateColumns): boolean {
  return rateColumns.every((column) => one[column] === other[column]);
}

/** Returns the rates of a row. Must only be called for rows with rates: those of models, and those of orgs without a discount. */
export function ratesOf(row: RateColumns): Rates {
  const entries = rateNames.map(([rate, column]) => [rate, row[column]]);
  return Object.fromEntries(entries) as unknown as Rates;
}

/** Returns only the rates that the request contains. */
export function someRatesOf(request: RateRequest): Partial<Rates> {
  const entries = rateNames.flatMap(([rate, , field]) => {
    const nanos = parseUsd(request[field] ?? '');
    return nanos === undefined ? [] : [[rate, nanos]];
  });
  return Object.fromEntries(entries);
}

export function viewSomeRates(rates: Partial<Rates>): SomeRates {
  const entries = rateNames.flatMap(([rate, , field]) => {
    const nanos = rates[rate];
    return nanos == null ? [] : [[field, formatUsd(nanos)]];
  });
  return Object.fromEntries(entries);
}

export function viewColumns(row: RateColumns): RateView {
  return view((_, column) => row[column]);
}

export function viewRates(rates: Rates): RateView {
  return view((rate) => rates[rate]);
}

function view(amount: (rate: RateName[0], column: RateColumn) => bigint | null): RateView {
  const entries = rateNames.map(([rate, column, field]) => {
    const nanos = amount(rate, column);
    return [field, nanos === null ? null : formatUsd(nanos)];
  });
  return Object.fromEntries(entries) as RateView;
}
