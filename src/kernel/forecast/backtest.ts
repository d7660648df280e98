/**
 * Rolling-origin backtest: forecasts the days after past origins from what was known then, and measures the errors.
 * The errors select the model and determine the bands. Only the scaling by `withoutLevelShift` uses later days.
 */
import { type ForecastMethod, type ForecastModel, models, seasonalNaiveMethod } from './models.ts';
import { daysOfWeek, mean, median, type Series } from './series.ts';

export interface Backtest {
  readonly method: ForecastMethod;
  /** Mean absolute error of the method, and of repeating the previous week. */
  readonly meanAbsoluteError: number;
  readonly seasonalNaiveError: number | null;
  readonly origins: number;
  readonly stepsAhead: number;
  /** Number of days since the first origin. */
  readonly daysTested: number;
  /** By origin: actual minus forecast value, for each day that is known by now. */
  readonly errors: readonly (readonly number[])[];
}

const originsMax = 24;
const lookBackDays = 84;
const stepsAheadMax = 28;
/** Half-life of the weight of an error, in origins: recent errors matter most. */
const halfLifeOrigins = 12;
/** A combination of models is robust, so a single model must beat its score by this factor. */
const preferenceForCombined = 0.98;

interface MethodPredictions {
  readonly method: ForecastMethod;
  readonly predictions: readonly (readonly number[])[];
}

/** Returns undefined if there are too few days for a backtest. */
export function backtest(series: Series, stepsWanted: number): Backtest | undefined {
  const daysKnownMin = series.length < 4 * daysOfWeek ? daysOfWeek : 3 * daysOfWeek;
  const first = Math.max(daysKnownMin, series.length - lookBackDays);
  if (first >= series.length - 2) {
    return undefined;
  }
  const stepsAhead = Math.max(1, Math.min(stepsWanted, stepsAheadMax, Math.floor(series.length / 3)));
  const origins = originsOf(first, series.length);
  const candidates = withCombined(
    usableModels(first).map(({ method, predict }) => ({
      method,
      predictions: predict(series, origins, stepsAhead).map(notBelowZero),
    })),
  );
  const scored = candidates.map(({ method, predictions }) => {
    const errors = predictions.map((days, index) => errorsOf(series, origins[index] ?? 0, days));
    return { method, errors, score: scoreOf(errors) };
  });
  const best = scored.reduce((a, b) => (preferred(b) < preferred(a) ? b : a));
  const naive = scored.find(({ method }) => method === seasonalNaiveMethod);
  return {
    method: best.method,
    meanAbsoluteError: meanAbsoluteErrorOf(best.errors),
    seasonalNaiveError: naive === undefined ? null : meanAbsoluteErrorOf(naive.errors),
    origins: origins.length,
    stepsAhead,
    daysTested: series.length - (origins[0] ?? 0),
    errors: best.errors,
  };
}

/** Forecasts with a method from all known days. */
export function predictWith(method: ForecastMethod, series: Series, steps: number): number[] {
  const chosen =
    method === 'combined' ? usableModels(series.length) : models.filter((one) => one.method === method);
  const predictions = chosen.map(({ predict }) =>
    notBelowZero(predict(series, [series.length], steps)[0] ?? []),
  );
  return method === 'combined' ? middleOf(predictions) : (predictions[0] ?? []);
}

function preferred({ method, score }: { readonly method: ForecastMethod; readonly score: number }): number {
  return method === 'combined' ? score * preferenceForCombined : score;
}

function usableModels(days: number): ForecastModel[] {
  return models.filter(({ daysMin }) => daysMin <= days);
}

function withCombined(candidates: readonly MethodPredictions[]): MethodPredictions[] {
  if (candidates.length < 3) {
    return [...candidates];
  }
  const origins = candidates[0]?.predictions ?? [];
  const predictions = origins.map((_, origin) =>
    middleOf(candidates.map((candidate) => candidate.predictions[origin] ?? [])),
  );
  return [...candidates, { method: 'combined', predictions }];
}

function middleOf(predictions: readonly (readonly number[])[]): number[] {
  return (predictions[0] ?? []).map((_, step) => median(predictions.map((days) => days[step] ?? 0)));
}

/** Returns origins at equal distances that cover all weekdays; the last origin is a day before the end. */
function originsOf(first: number, end: number): number[] {
  let distance = Math.ceil((end - first) / originsMax);
  if (distance % daysOfWeek === 0) {
    distance += 1;
  }
  const origins: number[] = [];
  for (let origin = end - 1; origin >= first; origin -= distance) {
    origins.unshift(origin);
  }
  return origins;
}

function errorsOf(series: Series, origin: number, days: readonly number[]): number[] {
  return days.slice(0, series.length - origin).map((day, index) => (series[origin + index] ?? 0) - day);
}

/**
 * Root mean square error, because sums matter: by absolute errors a model that predicts zero for rare costs would
 * win.
 */
function scoreOf(errors: readonly (readonly number[])[]): number {
  let weights = 0;
  let total = 0;
  for (const [index, days] of errors.entries()) {
    const weight = 0.5 ** ((errors.length - 1 - index) / halfLifeOrigins);
    for (const error of days) {
      total += weight * error * error;
      weights += weight;
    }
  }
  return Math.sqrt(total / weights);
}

function meanAbsoluteErrorOf(errors: readonly (readonly number[])[]): number {
  return mean(errors.flat().map(Math.abs));
}

function notBelowZero(days: readonly number[]): number[] {
  return days.map((day) => Math.max(0, day));
}
