/**
 * A daily series: one value per day, oldest first, without gaps. Values are floating point even for money: a
 * forecast is an estimate, and this folder and its callers are the only place where that is allowed. Actual costs
 * stay exact elsewhere.
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

/** Interpolates linearly between the two nearest ranks. `share` is from 0 to 1. */
export function quantile(values: Series, share: number): number {
  const sorted = Float64Array.from(values).sort();
  const rank = Math.min(1, Math.max(0, share)) * (sorted.length - 1);
  const below = sorted[Math.floor(rank)] ?? 0;
  const above = sorted[Math.ceil(rank)] ?? 0;
  return below + (above - below) * (rank - Math.floor(rank));
}
