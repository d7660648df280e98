/** A daily series goes on: which model, what is expected of each day to come, and how sure that is. */
import { type Backtest, backtest, predictWith } from './backtest.ts';
import { type Band, bandOfDays, bandOfSums } from './bands.ts';
import { levelled } from './level-shift.ts';
import type { Method } from './models.ts';
import { daysOfWeek, mean, type Series } from './series.ts';

export interface Estimate {
  readonly expected: number;
  /** Null where there is too little history to tell how far off it may be. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface Forecast {
  readonly method: Method;
  readonly days: readonly Estimate[];
  /** Of the first day, of the first two, … The last one is the total. */
  readonly sums: readonly Estimate[];
  /** Undefined where there were too few days for one. */
  readonly backtest: Backtest | undefined;
}

export const qualities = ['none', 'low', 'fair', 'good'] as const;
export type Quality = (typeof qualities)[number];

const daysForFair = 3 * daysOfWeek;
const daysForGood = 8 * daysOfWeek;

/** Told by what there was to learn from alone; how well it fits shows in the bands and the backtest. */
export function qualityFor(days: number, steps: number): Quality {
  if (days === 0) {
    return 'none';
  }
  if (days < daysForFair || steps > days) {
    return 'low';
  }
  return days < daysForGood || steps > days / 2 ? 'fair' : 'good';
}

export function forecast(history: Series, steps: number): Forecast {
  const series = levelled(history);
  const tried = series.length === 0 ? undefined : backtest(series, steps);
  const method = tried?.method ?? (series.length === 0 ? 'none' : 'mean');
  const expected = method === 'none' ? Array<number>(steps).fill(0) : predictWith(method, series, steps);
  const sums: number[] = [];
  for (const day of expected) {
    sums.push((sums.at(-1) ?? 0) + day);
  }
  const [ofDays, ofSums] = bandsFor(series, tried);
  return { method, days: within(expected, ofDays), sums: within(sums, ofSums), backtest: tried };
}

function bandsFor(series: Series, tried: Backtest | undefined): [Band?, Band?] {
  if (tried !== undefined) {
    const { errors, daysTested, stepsAhead } = tried;
    return [bandOfDays(errors, daysTested / daysOfWeek), bandOfSums(errors, daysTested / stepsAhead)];
  }
  if (series.length < 2) {
    return [];
  }
  const errors = scatterAroundMean(series);
  return [bandOfDays(errors, series.length - 1), bandOfSums(errors, series.length - 1)];
}

/** With a handful of days there is nothing to stand back from: each is held against the mean of the others. */
function scatterAroundMean(series: Series): number[][] {
  return series.map((value, index) => [value - mean(series.filter((_, other) => other !== index))]);
}

function within(expected: readonly number[], band: Band | undefined): Estimate[] {
  return expected.map((value, index) => ({
    expected: value,
    low: band === undefined ? null : Math.max(0, value + band.lowAt(index + 1)),
    high: band === undefined ? null : Math.max(0, value + band.highAt(index + 1)),
  }));
}
