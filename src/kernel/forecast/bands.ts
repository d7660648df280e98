/**
 * Prediction intervals ("bands") from the errors of backtests. The spread grows with the horizon by a power law;
 * its shape is that of the errors, so a band may be wider above than below.
 */
import { mean, quantile, type Series } from './series.ts';

/** 80 % of the days lie within a band: 10 % above, 10 % below. */
export const coverage = 0.8;

/** Offsets from the expected value at a horizon in days. */
export interface Band {
  lowAt(step: number): number;
  highAt(step: number): number;
}

/** Bounds for the fitted growth exponent. */
interface GrowthBounds {
  readonly least: number;
  readonly most: number;
}

/**
 * The error of one day grows at most linearly with the horizon, like the error of a slope. The error of a sum grows at least with
 * the square root of the horizon, like a sum of independent errors.
 */
const growthOfDays: GrowthBounds = { least: 0, most: 1 };
const growthOfSums: GrowthBounds = { least: 0.5, most: 1.6 };
/** Widening factor: the errors are those of the best model, so they are optimistic. */
const widening = 1.1;

/** `independent`: the number of independent errors, not counting errors of the same or of correlated days. */
export function bandOfDays(errors: readonly Series[], independent: number): Band {
  return bandOf(errors, growthOfDays, smallSampleFactor(independent));
}

/** Band of the cumulative sum. Daily errors are correlated, so the bounds of daily bands must not be added. */
export function bandOfSums(errors: readonly Series[], independent: number): Band {
  return bandOf(errors.map(sums), growthOfSums, smallSampleFactor(independent));
}

function sums(errors: Series): number[] {
  let total = 0;
  return errors.map((error) => {
    total += error;
    return total;
  });
}

/** Widens the band for small samples, approximately like Student's t compared to the normal distribution. */
function smallSampleFactor(independent: number): number {
  return 1 + 1.4 * Math.max(1, independent) ** -1.4;
}

function bandOf(errors: readonly Series[], bounds: GrowthBounds, sampleFactor: number): Band {
  const scatter = scatterOf(errors, bounds);
  const standardized = errors.flatMap((days) =>
    days.map((error, index) => error / (scatter.at(index + 1) || 1)),
  );
  const factor = widening * sampleFactor;
  const tail = (1 - coverage) / 2;
  const [low, high] = [quantile(standardized, tail), quantile(standardized, 1 - tail)];
  return {
    lowAt: (step) => Math.min(0, low) * factor * scatter.at(step),
    highAt: (step) => Math.max(0, high) * factor * scatter.at(step),
  };
}

function scatterOf(errors: readonly Series[], { least, most }: GrowthBounds): { at(step: number): number } {
  const steps = Math.max(...errors.map(({ length }) => length));
  const points: { readonly x: number; readonly y: number; readonly weight: number }[] = [];
  for (let step = 1; step <= steps; step += 1) {
    const squares = errors.flatMap((days) => (step > days.length ? [] : [(days[step - 1] ?? 0) ** 2]));
    const size = Math.sqrt(mean(squares));
    if (size > 0) {
      points.push({ x: Math.log(step), y: Math.log(size), weight: squares.length });
    }
  }
  if (points.length === 0) {
    return { at: () => 0 };
  }
  const weights = points.reduce((total, { weight }) => total + weight, 0);
  const average = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((total, point) => total + point.weight * of(point), 0) / weights;
  const [meanX, meanY] = [average(({ x }) => x), average(({ y }) => y)];
  const spread = average(({ x }) => (x - meanX) ** 2);
  const slope = spread === 0 ? least : average(({ x, y }) => (x - meanX) * (y - meanY)) / spread;
  const growth = Math.min(most, Math.max(least, slope));
  return { at: (step) => Math.exp(meanY + growth * (Math.log(step) - meanX)) };
}
