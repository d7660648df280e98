/**
 * Holt and Winters' exponential smoothing: a level, a damped trend and a season of seven days that is added. The paces at
 * which the three follow are those of a small grid that would have told each next day best.
 */
import { daysOfWeek, mean, type Series } from './series.ts';

interface Paces {
  readonly level: number;
  readonly trend: number;
  readonly season: number;
  readonly damping: number;
}

const grid: readonly Paces[] = [0.05, 0.15, 0.35, 0.7].flatMap((level) =>
  [0, 0.05, 0.2].flatMap((trend) =>
    [0.05, 0.15, 0.35].flatMap((season) => [0.9, 0.98].map((damping) => ({ level, trend, season, damping }))),
  ),
);
/** The paces of a year are those of now. It bounds what the fit costs. */
const fittedDaysMax = 364;
/** The first days tell how the smoothing was begun, not how good it is. */
const warmUpDays = 2 * daysOfWeek;

class State {
  level: number;
  trend: number;
  readonly season: number[];
  readonly #paces: Paces;

  constructor(firstDays: Series, paces: Paces) {
    const [first, second] = [mean(firstDays.slice(0, 7)), mean(firstDays.slice(7, 14))];
    this.level = first;
    this.trend = (second - first) / daysOfWeek;
    this.season = Array.from(
      { length: daysOfWeek },
      (_, day) => ((firstDays[day] ?? 0) - first + (firstDays[day + daysOfWeek] ?? 0) - second) / 2,
    );
    this.#paces = paces;
  }

  /** Takes in the next day; returns how far it was from what was expected. */
  take(day: number, value: number): number {
    const { level, trend, season, damping } = this.#paces;
    const weekday = day % daysOfWeek;
    const before = this.level + damping * this.trend;
    const error = value - before - (this.season[weekday] ?? 0);
    this.level = before + level * error;
    this.trend = damping * this.trend + level * trend * error;
    this.season[weekday] = (this.season[weekday] ?? 0) + season * (1 - level) * error;
    return error;
  }

  ahead(origin: number, steps: number): number[] {
    const { damping } = this.#paces;
    let growth = 0;
    let factor = 1;
    return Array.from({ length: steps }, (_, index) => {
      factor *= damping;
      growth += factor * this.trend;
      return this.level + growth + (this.season[(origin + index) % daysOfWeek] ?? 0);
    });
  }
}

export function holtWinters(series: Series, origins: readonly number[], steps: number): number[][] {
  const paces = fitPaces(series.slice(Math.max(0, (origins[0] ?? 0) - fittedDaysMax), origins[0]));
  const state = new State(series, paces);
  let known = 0;
  return origins.map((origin) => {
    for (; known < origin; known += 1) {
      state.take(known, series[known] ?? 0);
    }
    return state.ahead(origin, steps);
  });
}

function fitPaces(known: Series): Paces {
  let best = grid[0] as Paces;
  let least = Number.POSITIVE_INFINITY;
  for (const paces of grid) {
    const state = new State(known, paces);
    let error = 0;
    for (let day = 0; day < known.length && error < least; day += 1) {
      const off = state.take(day, known[day] ?? 0);
      error += day < warmUpDays ? 0 : off * off;
    }
    if (error < least) {
      [best, least] = [paces, error];
    }
  }
  return best;
}
