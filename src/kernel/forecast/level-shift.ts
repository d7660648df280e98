/**
 * Detects a level shift, for example because a product was launched, or a customer joined or left. The days before
 * it would mislead every model, so they are scaled to the level after it; their weekday pattern and relative
 * scatter stay useful.
 */
import { daysOfWeek, mean, type Series } from './series.ts';

/** Number of recent days in which a shift is searched: an older shift is outweighed by the days since. */
const lookBackDays = 84;
/** Minimum number of days on each side of a shift. */
const sideDaysMin = daysOfWeek;
const daysMin = 3 * daysOfWeek;
/** Maximum residual scatter around a shift, relative to that around a line. */
const remainingScatterMax = 0.5;

/** Returns the series with the days before its most distinct recent shift scaled to the level after it. */
export function withoutLevelShift(series: Series): Series {
  const at = findShift(series);
  if (at === undefined) {
    return series;
  }
  const before = mean(series.slice(Math.max(0, at - 4 * daysOfWeek), at));
  const after = mean(series.slice(at, at + 4 * daysOfWeek));
  // Zero cannot be scaled, so the history starts with the shift.
  return before === 0
    ? series.slice(at)
    : series.map((value, day) => (day < at ? (value * after) / before : value));
}

/** Returns the first day of the new level; undefined if there is no significant shift. */
export function findShift(series: Series): number | undefined {
  const first = Math.max(0, series.length - lookBackDays);
  if (series.length - first < daysMin) {
    return undefined;
  }
  const days = weeksAround(series.slice(first));
  const [sums, squares] = [prefixSums(days), prefixSums(days.map((value) => value * value))];
  const scatter = (from: number, to: number) => {
    const total = (sums[to] ?? 0) - (sums[from] ?? 0);
    return (squares[to] ?? 0) - (squares[from] ?? 0) - (total * total) / (to - from);
  };
  let best: { readonly at: number; readonly scatter: number } | undefined;
  for (let at = sideDaysMin - halfWeek; at <= days.length - sideDaysMin + halfWeek; at += 1) {
    const both = scatter(0, at) + scatter(at, days.length);
    if (best === undefined || both < best.scatter) {
      best = { at, scatter: both };
    }
  }
  return best !== undefined && best.scatter < remainingScatterMax * scatterAroundLine(days)
    ? first + best.at + halfWeek
    : undefined;
}

const halfWeek = 3;

/** Returns the mean of the week around each day, so that weekends are not mistaken for shifts. */
function weeksAround(days: Series): number[] {
  const sums = prefixSums(days);
  return Array.from(
    { length: days.length - 2 * halfWeek },
    (_, day) => ((sums[day + daysOfWeek] ?? 0) - (sums[day] ?? 0)) / daysOfWeek,
  );
}

function prefixSums(values: Series): number[] {
  const sums = [0];
  for (const value of values) {
    sums.push((sums.at(-1) ?? 0) + value);
  }
  return sums;
}

function scatterAroundLine(days: Series): number {
  const [middle, level] = [(days.length - 1) / 2, mean(days)];
  let spread = 0;
  let covariance = 0;
  let total = 0;
  for (const [day, value] of days.entries()) {
    spread += (day - middle) ** 2;
    covariance += (day - middle) * (value - level);
    total += (value - level) ** 2;
  }
  return total - (covariance * covariance) / spread;
}
