/** Measures that can be forecast: how they are read from usage and how they are formatted. */
import type { Unit } from '../../../kernel/limits.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { DayOfUse } from './history.ts';

export const measureNames = ['spend', 'runs', 'tokens'] as const;
export type MeasureName = (typeof measureNames)[number];

export interface ForecastMeasure {
  readonly name: MeasureName;
  /** Unit of the limits that count this measure. */
  readonly unit: Unit;
  /** Returns the exact amount of a day; for spend in nanodollars. */
  of(day: DayOfUse): bigint;
  /** Formats a counted amount exactly. */
  exact(amount: bigint): string;
  /** Formats an estimate, without digits that would suggest a precision that no forecast has. */
  estimate(amount: number): string;
}

export const measures: Readonly<Record<MeasureName, ForecastMeasure>> = {
  spend: {
    name: 'spend',
    unit: 'usd',
    of: ({ usd_nanos }) => BigInt(usd_nanos),
    exact: formatUsd,
    estimate: estimatedUsd,
  },
  runs: {
    name: 'runs',
    unit: 'requests',
    of: ({ runs }) => BigInt(runs),
    exact: String,
    estimate: (amount) => String(hundredths(amount)),
  },
  tokens: {
    name: 'tokens',
    unit: 'tokens',
    of: tokensOf,
    exact: String,
    estimate: (amount) => wholeText(amount),
  },
};

/** Cached and cache-write tokens are not added, because they are part of the input tokens. */
export function tokensOf(day: DayOfUse): bigint {
  return BigInt(day.input_tokens) + BigInt(day.output_tokens);
}

/** Rounds to a millionth of a dollar. */
export function estimatedUsd(nanos: number): string {
  return formatUsd(BigInt(Math.round(nanos / 1_000)) * 1_000n);
}

export function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Formats a number without an exponent, however large it is. */
function wholeText(value: number): string {
  return BigInt(Math.round(value)).toString();
}
