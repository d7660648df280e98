/** Forecast of a daily series: the model, the expected value of each day, and its uncertainty. */
import { type Backtest, backtest, predictWith } from './backtest.ts';
import { type Band, bandOfDays, bandOfSums } from './bands.ts';
import { withoutLevelShift } from './level-shift.ts';
import type { ForecastMethod } from './models.ts';
import { daysOfWeek, mean, type Series } from './series.ts';

export interface Estimate {
  readonly expected: number;
  /** Null if there is too little history to estimate the uncertainty. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface Forecast {
  readonly method: ForecastMethod;
  readonly days: readonly Estimate[];
  /** Cumulative sums; the last one is the total. */
  readonly sums: readonly Estimate[];
  /** Undefined if there were too few days. */
  readonly backtest: Backtest | undefined;
}

export const qualities = ['none', 'low', 'fair', 'good'] as const;
export type Quality = (typeof qualities)[number];

const daysForFair = 3 * daysOfWeek;
const daysForGood = 8 * daysOfWeek;

/** Quality by the amount of history and the horizon; the goodness of fit is visible in the bands and the backtest. */
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
  const series = withoutLevelShift(history);
  const backtested = series.length === 0 ? undefined : backtest(series, steps);
  const method = backtested?.method ?? (series.length === 0 ? 'none' : 'mean');
  const expected = method === 'none' ? Array<number>(steps).fill(0) : predictWith(method, series, steps);
  const sums: number[] = [];
  for (const day of expected) {
    sums.push((sums.at(-1) ?? 0) + day);
  }
  const [ofDays, ofSums] = bandsFor(series, backtested);
  return { method, days: within(expected, ofDays), sums: within(sums, ofSums), backtest: backtested };
}

function bandsFor(series: Series, backtested: Backtest | undefined): [Band?, Band?] {
  if (backtested !== undefined) {
    const { errors, daysTested, stepsAhead } = backtested;
    return [bandOfDays(errors, daysTested / daysOfWeek), bandOfSums(errors, daysTested / stepsAhead)];
  }
  if (series.length < 2) {
    return [];
  }
  const errors = scatterAroundMean(series);
  return [bandOfDays(errors, series.length - 1), bandOfSums(errors, series.length - 1)];
}

/** Leave-one-out errors, for too few days for a backtest: each day is compared with the mean of the others. */
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
