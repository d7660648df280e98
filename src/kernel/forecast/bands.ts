/**
 * How far the days to come may lie from what is expected, from how far backtests were off. The scatter grows with the
 * distance as a power of it; its shape is that of the errors themselves, so a band need not be as wide above as below.
 */
import { mean, quantile, type Series } from './series.ts';

/** Four days in five lie within a band: a tenth above, a tenth below. */
export const coverage = 0.8;

/** What is to be added to the expectation at a distance in days. */
export interface Band {
  lowAt(step: number): number;
  highAt(step: number): number;
}

/** Between these the growth of the scatter is fitted. */
interface GrowthBounds {
  readonly least: number;
  readonly most: number;
}

/** A day's error grows at most as that of a slope does; that of a sum at least as those of independent days do. */
const growthOfDays: GrowthBounds = { least: 0, most: 1 };
const growthOfSums: GrowthBounds = { least: 0.5, most: 1.6 };
/** The errors are those of the model that did best, so they flatter. */
const widening = 1.1;

/** `independent`: how many of the errors are not of the same days, or of days that go together. */
export function bandOfDays(errors: readonly Series[], independent: number): Band {
  return bandOf(errors, growthOfDays, fewness(independent));
}

/** Of the sum of all days up to a distance: daily errors go together, so daily ends must not be added. */
export function bandOfSums(errors: readonly Series[], independent: number): Band {
  return bandOf(errors.map(sums), growthOfSums, fewness(independent));
}

function sums(errors: Series): number[] {
  let total = 0;
  return errors.map((error) => {
    total += error;
    return total;
  });
}

/** The wider, the fewer: as Student's distribution is wider than the normal one, nearly. */
function fewness(independent: number): number {
  return 1 + 1.4 * Math.max(1, independent) ** -1.4;
}

function bandOf(errors: readonly Series[], bounds: GrowthBounds, wider: number): Band {
  const scatter = scatterOf(errors, bounds);
  const standardized = errors.flatMap((days) =>
    days.map((error, index) => error / (scatter.at(index + 1) || 1)),
  );
  const factor = widening * wider;
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
