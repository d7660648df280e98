/**
 * A daily series: one value a day, oldest first, without gaps; the same weekday comes again after seven. Values are
 * floating point, also where they stand for money: a forecast is an estimate, and this folder and its callers are the one
 * place where that is allowed. What was really spent stays exact elsewhere.
 */
export type Series = readonly number[];

export const daysOfWeek = 7;

export function sum(values: Series): number {
  return values.reduce((total, value) => total + value, 0);
}

export function mean(values: Series): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

export function median(values: Series): number {
  return quantile(values, 0.5);
}

/** Between the two nearest by rank. `share` is from 0 to 1. */
export function quantile(values: Series, share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = Math.min(1, Math.max(0, share)) * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.ceil(place)] ?? 0;
  return below + (above - below) * (place - Math.floor(place));
}
