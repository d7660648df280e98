/** Converts rates between their API form, their columns and the form that the kernel computes with. */
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import type { Rates } from '../../../kernel/prices.ts';

const units = [
  ['inputNanosPerMillion', 'input_nanos_per_million', 'input_usd_per_million'],
  ['cachedInputNanosPerMillion', 'cached_input_nanos_per_million', 'cached_input_usd_per_million'],
  ['cacheWriteNanosPerMillion', 'cache_write_nanos_per_million', 'cache_write_usd_per_million'],
  ['outputNanosPerMillion', 'output_nanos_per_million', 'output_usd_per_million'],
  ['audioInputNanosPerMillion', 'audio_input_nanos_per_million', 'audio_input_usd_per_million'],
  ['audioOutputNanosPerMillion', 'audio_output_nanos_per_million', 'audio_output_usd_per_million'],
  ['imageNanosEach', 'image_nanos_each', 'image_usd'],
  ['requestNanosEach', 'request_nanos_each', 'request_usd'],
] as const satisfies readonly (readonly [keyof Rates, string, string])[];

type Unit = (typeof units)[number];
export type RateColumn = Unit[1];
export type RateField = Unit[2];

export const rateColumns: readonly RateColumn[] = units.map(([, column]) => column);
export const rateFields: readonly RateField[] = units.map(([, , field]) => field);

export type RateColumns = { readonly [Column in RateColumn]: bigint | null };
export type RateView = { [Field in RateField]: string | null };
/** Rates of a validated body. A rate that is left out or null does not exist. */
export type RateRequest = { readonly [Field in RateField]?: string | null };

/** Rates, or a factor of all rates, that apply to runs that meet all of the stated conditions. */
export interface ModifierRequest extends RateRequest {
  readonly tier?: string;
  readonly above_input_tokens?: number;
  readonly cache_write_ttl?: '1h';
  readonly region?: string;
  readonly multiplier?: string;
}

/** A price as in the body of a request, without its start. */
export interface PriceRequest extends RateRequest {
  readonly modifiers?: readonly ModifierRequest[] | null;
  /** US dollars per unit, by name. */
  readonly units?: Readonly<Record<string, string>> | null;
}

export const noRates = Object.fromEntries(rateColumns.map((column) => [column, null])) as RateColumns;

export function columnsOf(request: RateRequest): RateColumns {
  const entries = units.map(([, column, field]) => [column, parseUsd(request[field] ?? '') ?? null]);
  return Object.fromEntries(entries) as RateColumns;
}

export function sameRates(one: RateColumns, other: RateColumns): boolean {
  return rateColumns.every((column) => one[column] === other[column]);
}

/** Must only be called for rows with rates: those of models, and those of orgs without a discount. */
export function ratesOf(row: RateColumns): Rates {
  const entries = units.map(([rate, column]) => [rate, row[column]]);
  return Object.fromEntries(entries) as unknown as Rates;
}

export function viewColumns(row: RateColumns): RateView {
  return view((_, column) => row[column]);
}

export function viewRates(rates: Rates): RateView {
  return view((rate) => rates[rate]);
}

function view(amount: (rate: Unit[0], column: RateColumn) => bigint | null): RateView {
  const entries = units.map(([rate, column, field]) => {
    const nanos = amount(rate, column);
    return [field, nanos === null ? null : formatUsd(nanos)];
  });
  return Object.fromEntries(entries) as RateView;
}
