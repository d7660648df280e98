/**
 * Rolling-origin backtest: stand at days gone by, forecast the days after them from what was known then, and see how far
 * it was off. It chooses the model, and its errors are what the bands are made of.
 */
import { type Method, type Model, models, seasonalNaiveMethod } from './models.ts';
import { daysOfWeek, mean, median, type Series } from './series.ts';

export interface Backtest {
  readonly method: Method;
  /** Mean absolute error of the method, and of repeating the week before. */
  readonly meanAbsoluteError: number;
  readonly seasonalNaiveError: number | null;
  readonly origins: number;
  readonly stepsAhead: number;
  /** From the first origin on. */
  readonly daysTested: number;
  /** By origin: what came less what was forecast, for each day that is known by now. */
  readonly errors: readonly (readonly number[])[];
}

const originsMax = 24;
const lookBackDays = 84;
const stepsAheadMax = 28;
/** An error of so many origins ago counts half. What told the last weeks best matters most. */
const halfLifeOrigins = 12;
/** Several models together are seldom far off; a single one has to be better than that by as much. */
const preferenceForCombined = 0.98;

interface Candidate {
  readonly method: Method;
  readonly predictions: readonly (readonly number[])[];
}

/** Undefined where there are too few days to stand back from the last one. */
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
  const judged = candidates.map(({ method, predictions }) => {
    const errors = predictions.map((days, index) => errorsOf(series, origins[index] ?? 0, days));
    return { method, errors, score: scoreOf(errors) };
  });
  const best = judged.reduce((a, b) => (preferred(b) < preferred(a) ? b : a));
  const naive = judged.find(({ method }) => method === seasonalNaiveMethod);
  return {
    method: best.method,
    meanAbsoluteError: plainError(best.errors),
    seasonalNaiveError: naive === undefined ? null : plainError(naive.errors),
    origins: origins.length,
    stepsAhead,
    daysTested: series.length - (origins[0] ?? 0),
    errors: best.errors,
  };
}

/** What the method makes of all days known. */
export function predictWith(method: Method, series: Series, steps: number): number[] {
  const chosen =
    method === 'combined' ? usableModels(series.length) : models.filter((one) => one.method === method);
  const predictions = chosen.map(({ predict }) =>
    notBelowZero(predict(series, [series.length], steps)[0] ?? []),
  );
  return method === 'combined' ? middleOf(predictions) : (predictions[0] ?? []);
}

function preferred({ method, score }: { readonly method: Method; readonly score: number }): number {
  return method === 'combined' ? score * preferenceForCombined : score;
}

function usableModels(days: number): Model[] {
  return models.filter(({ daysMin }) => daysMin <= days);
}

function withCombined(candidates: readonly Candidate[]): Candidate[] {
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

/** At distances that fall on every weekday, the last one a day before the end. */
function originsOf(first: number, end: number): number[] {
  let apart = Math.ceil((end - first) / originsMax);
  if (apart % daysOfWeek === 0) {
    apart += 1;
  }
  const origins: number[] = [];
  for (let origin = end - 1; origin >= first; origin -= apart) {
    origins.unshift(origin);
  }
  return origins;
}

function errorsOf(series: Series, origin: number, days: readonly number[]): number[] {
  return days.slice(0, series.length - origin).map((day, index) => (series[origin + index] ?? 0) - day);
}

/** Squares, since sums are what matters: a model of absolute errors tells a rare cost to be none at all. */
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

function plainError(errors: readonly (readonly number[])[]): number {
  return mean(errors.flat().map(Math.abs));
}

function notBelowZero(days: readonly number[]): number[] {
  return days.map((day) => Math.max(0, day));
}
