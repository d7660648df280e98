/** The measures of usage, for charts and tables. */
import { count, milliseconds, shortCount, shortUsd, usd } from '../../format.ts';

export interface MeasureSums {
  readonly runs: number;
  readonly failed_runs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
  readonly value_usd: string;
  readonly cache_savings_usd: string;
  readonly latency_p95_ms?: number | null;
}

export interface ChartMeasure {
  readonly name: string;
  readonly label: string;
  /** True if the values of parts add up to that of the whole, so that they can be stacked. */
  readonly isSum: boolean;
  /** Returns null if there is no value, such as a share of no runs. */
  of(sums: MeasureSums): number | null;
  format(value: number): string;
  formatTick(value: number): string;
}

const money = { format: usd, formatTick: shortUsd };
const whole = { format: count, formatTick: shortCount };
const share = (value: number) => `${(value * 100).toFixed(1)}%`;
const seconds = (value: number) => milliseconds(Math.round(value));

export const spendMeasure: ChartMeasure = {
  name: 'spend',
  label: 'Spend',
  isSum: true,
  of: ({ cost_usd }) => Number(cost_usd),
  ...money,
};

export const measures: readonly ChartMeasure[] = [
  spendMeasure,
  { name: 'runs', label: 'Runs', isSum: true, of: ({ runs }) => runs, ...whole },
  { name: 'tokens', label: 'Tokens', isSum: true, of: tokensOf, ...whole },
  { name: 'cost_per_run', label: 'Cost per run', isSum: false, of: costPerRun, ...money },
  {
    name: 'failure_rate',
    label: 'Failure rate',
    isSum: false,
    of: ({ failed_runs, runs }) => (runs === 0 ? null : failed_runs / runs),
    format: share,
    formatTick: share,
  },
  {
    name: 'p95',
    label: 'p95 latency',
    isSum: false,
    of: ({ latency_p95_ms = null }) => latency_p95_ms,
    format: seconds,
    formatTick: seconds,
  },
  {
    name: 'return',
    label: 'Return',
    // May be negative, and a negative part cannot be stacked.
    isSum: false,
    of: ({ value_usd, cost_usd }) => Number(value_usd) - Number(cost_usd),
    ...money,
  },
  {
    name: 'cache_savings',
    label: 'Cache savings',
    // Negative where cached tokens are dearer than others.
    isSum: false,
    of: ({ cache_savings_usd }) => Number(cache_savings_usd),
    ...money,
  },
];

export function measureOf(name: string | null): ChartMeasure {
  return measures.find((one) => one.name === name) ?? spendMeasure;
}

export function tokensOf({ input_tokens, output_tokens }: MeasureSums): number {
  return input_tokens + output_tokens;
}

export function costPerRun({ cost_usd, runs }: MeasureSums): number | null {
  return runs === 0 ? null : Number(cost_usd) / runs;
}

/** Returns the measure of a row, formatted; a dash if it has none. */
export function measured(measure: ChartMeasure, sums: MeasureSums): string {
  const value = measure.of(sums);
  return value === null ? '–' : measure.format(value);
}
