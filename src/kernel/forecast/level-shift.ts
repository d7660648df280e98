/**
 * A step in the level: a product was launched, a customer came or went. What lies before it would mislead every model, so
 * it is brought to the level after it; its weekdays and its relative scatter are still worth knowing.
 */
import { daysOfWeek, mean, type Series } from './series.ts';

/** A step that is further back is outvoted by the days since. */
const lookBackDays = 84;
/** Days on each side, at least. */
const sideDaysMin = daysOfWeek;
const daysMin = 3 * daysOfWeek;
/** A step has to explain the days so much better than a line through them. */
const explainedMin = 0.5;

/** The series with what lies before its last large step scaled to the level after it. */
export function levelled(series: Series): Series {
  const at = findShift(series);
  if (at === undefined) {
    return series;
  }
  const before = mean(series.slice(Math.max(0, at - 4 * daysOfWeek), at));
  const after = mean(series.slice(at, at + 4 * daysOfWeek));
  // Nothing cannot be scaled up to something: then history begins with the step.
  return before === 0
    ? series.slice(at)
    : series.map((value, day) => (day < at ? (value * after) / before : value));
}

/** The first day of the new level. Undefined where there is no step to speak of. */
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
  return best !== undefined && best.scatter < explainedMin * scatterAroundLine(days)
    ? first + best.at + halfWeek
    : undefined;
}

const halfWeek = 3;

/** The mean of the week around each day that has one: weekends are not to be taken for steps. */
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
