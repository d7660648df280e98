/**
 * The forecast models. Each model predicts the days after an origin, which is a number of known days. No model uses
 * days after its origin: parameters are fitted to the days before the first origin.
 */
import { holtWinters } from './holt-winters.ts';
import { daysOfWeek, mean, median, type Series } from './series.ts';

export const methods = [
  'none',
  'mean',
  'trend',
  'trend_and_weekday',
  'seasonal_naive',
  'weekday_mean',
  'smoothed_level',
  'holt_winters',
  'combined',
] as const;
export type ForecastMethod = (typeof methods)[number];

export interface ForecastModel {
  readonly method: ForecastMethod;
  /** Minimum number of known days. */
  readonly daysMin: number;
  /** For each origin, in ascending order, predicts `steps` days. */
  predict(series: Series, origins: readonly number[], steps: number): number[][];
}

const meanDaysMax = 28;
const weekdayMeanWeeks = 4;
const trendDaysMax = 28;
const trendWeeksMax = 10;
/** A trend is damped, because nothing grows linearly for a year. */
const trendDamping = 0.98;

/** The mean of the last four weeks, for every day. */
const meanModel: ForecastModel = {
  method: 'mean',
  daysMin: 1,
  predict: (series, origins, steps) =>
    origins.map((origin) => {
      const level = mean(series.slice(Math.max(0, origin - meanDaysMax), origin));
      return ahead(steps, () => level);
    }),
};

/** Repeats the last week. */
const seasonalNaive: ForecastModel = {
  method: 'seasonal_naive',
  daysMin: daysOfWeek,
  predict: (series, origins, steps) =>
    origins.map((origin) =>
      ahead(steps, (step) => series[origin - daysOfWeek + ((step - 1) % daysOfWeek)] ?? 0),
    ),
};

/** The mean of the same weekday over the last four weeks. */
const weekdayMean: ForecastModel = {
  method: 'weekday_mean',
  daysMin: 2 * daysOfWeek,
  predict: (series, origins, steps) =>
    origins.map((origin) => {
      const week = ahead(daysOfWeek, (step) => mean(sameWeekday(series, origin, step, weekdayMeanWeeks)));
      return ahead(steps, (step) => week[(step - 1) % daysOfWeek] ?? 0);
    }),
};

/** A line through the last four weeks with the Theil-Sen slope: the median of the slopes between any two days. */
const trend: ForecastModel = {
  method: 'trend',
  daysMin: daysOfWeek,
  predict: (series, origins, steps) =>
    origins.map((origin) => {
      const first = Math.max(0, origin - trendDaysMax);
      const days = series.slice(first, origin);
      const slope = medianSlope(days, 1);
      const level = median(days.map((value, day) => value + slope * (days.length - 1 - day)));
      return ahead(steps, (step) => level + slope * damped(step));
    }),
};

/** The Theil-Sen slope between equal weekdays of the last ten weeks, and a level per weekday from the last four. */
const trendAndWeekday: ForecastModel = {
  method: 'trend_and_weekday',
  daysMin: 3 * daysOfWeek,
  predict: (series, origins, steps) =>
    origins.map((origin) => {
      const slope = medianSlope(
        series.slice(Math.max(0, origin - trendWeeksMax * daysOfWeek), origin),
        daysOfWeek,
      );
      const levels = ahead(daysOfWeek, (step) => {
        const days = sameWeekday(series, origin, step, weekdayMeanWeeks);
        // Projected to the last known day. The most recent value comes first and is `daysOfWeek - step` days old.
        return median(days.map((value, week) => value + slope * (week * daysOfWeek + daysOfWeek - step)));
      });
      return ahead(steps, (step) => (levels[(step - 1) % daysOfWeek] ?? 0) + slope * damped(step));
    }),
};

const smoothings = [0.05, 0.1, 0.2, 0.35, 0.5, 0.8];

/** Exponential smoothing of the level, with the smoothing factor that had the least one-day-ahead error. */
const smoothedLevel: ForecastModel = {
  method: 'smoothed_level',
  daysMin: daysOfWeek,
  predict(series, origins, steps) {
    const known = series.slice(0, origins[0]);
    const errors = smoothings.map((alpha) => smoothingError(known, alpha));
    const alpha = smoothings[errors.indexOf(Math.min(...errors))] ?? 0.2;
    return origins.map((origin) => {
      const level = levelAt(series, origin, alpha);
      return ahead(steps, () => level);
    });
  },
};

const holtWintersModel: ForecastModel = {
  method: 'holt_winters',
  daysMin: 3 * daysOfWeek,
  predict: holtWinters,
};

export const seasonalNaiveMethod: ForecastMethod = 'seasonal_naive';

/** The simplest model comes first, because the first of equally good models wins. */
export const models: readonly ForecastModel[] = [
  meanModel,
  seasonalNaive,
  weekdayMean,
  smoothedLevel,
  trend,
  trendAndWeekday,
  holtWintersModel,
];

function ahead(steps: number, value: (step: number) => number): number[] {
  return Array.from({ length: steps }, (_, index) => value(index + 1));
}

function damped(step: number): number {
  return (trendDamping * (1 - trendDamping ** step)) / (1 - trendDamping);
}

/** Returns the known days with the weekday of this step, most recent first. */
function sameWeekday(series: Series, origin: number, step: number, weeksMax: number): number[] {
  const days: number[] = [];
  for (let day = origin - daysOfWeek + step - 1; day >= 0 && days.length < weeksMax; day -= daysOfWeek) {
    days.push(series[day] ?? 0);
  }
  return days;
}

/** The median slope over all pairs of days whose distance is a multiple of `lag`. */
function medianSlope(days: Series, lag: number): number {
  const slopes: number[] = [];
  for (let late = lag; late < days.length; late += 1) {
    for (let early = late - lag; early >= 0; early -= lag) {
      slopes.push(((days[late] ?? 0) - (days[early] ?? 0)) / (late - early));
    }
  }
  return slopes.length === 0 ? 0 : median(slopes);
}

function smoothingError(known: Series, alpha: number): number {
  let level = mean(known.slice(0, daysOfWeek));
  let error = 0;
  for (const value of known) {
    error += (value - level) ** 2;
    level += alpha * (value - level);
  }
  return error;
}

function levelAt(series: Series, origin: number, alpha: number): number {
  let level = mean(series.slice(0, Math.min(origin, daysOfWeek)));
  for (let day = 0; day < origin; day += 1) {
    level += alpha * ((series[day] ?? 0) - level);
  }
  return level;
}
