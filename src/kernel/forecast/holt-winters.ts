/**
 * Holt-Winters exponential smoothing: a level, a damped trend and an additive season of seven days. The smoothing
 * parameters are selected from a small grid by the error of one-day-ahead forecasts.
 */
import { daysOfWeek, mean, type Series } from './series.ts';

interface Smoothing {
  readonly level: number;
  readonly trend: number;
  readonly season: number;
  readonly damping: number;
}

const grid: readonly Smoothing[] = [0.05, 0.15, 0.35, 0.7].flatMap((level) =>
  [0, 0.05, 0.2].flatMap((trend) =>
    [0.05, 0.15, 0.35].flatMap((season) => [0.9, 0.98].map((damping) => ({ level, trend, season, damping }))),
  ),
);
/** Maximum number of days used for the fit. A year is enough, and it bounds the cost. */
const fittedDaysMax = 364;
/** Errors of the first days reflect the initial values, not the quality of the fit. */
const warmUpDays = 2 * daysOfWeek;

class State {
  level: number;
  trend: number;
  readonly season: number[];
  readonly #smoothing: Smoothing;

  constructor(firstDays: Series, smoothing: Smoothing) {
    const [first, second] = [mean(firstDays.slice(0, 7)), mean(firstDays.slice(7, 14))];
    this.level = first;
    this.trend = (second - first) / daysOfWeek;
    this.season = Array.from(
      { length: daysOfWeek },
      (_, day) => ((firstDays[day] ?? 0) - first + (firstDays[day + daysOfWeek] ?? 0) - second) / 2,
    );
    this.#smoothing = smoothing;
  }

  /** Updates the state with the next day; returns the forecast error. */
  take(day: number, value: number): number {
    const { level, trend, season, damping } = this.#smoothing;
    const weekday = day % daysOfWeek;
    const before = this.level + damping * this.trend;
    const error = value - before - (this.season[weekday] ?? 0);
    this.level = before + level * error;
    this.trend = damping * this.trend + level * trend * error;
    this.season[weekday] = (this.season[weekday] ?? 0) + season * (1 - level) * error;
    return error;
  }

  ahead(origin: number, steps: number): number[] {
    const { damping } = this.#smoothing;
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
  const smoothing = fitSmoothing(series.slice(Math.max(0, (origins[0] ?? 0) - fittedDaysMax), origins[0]));
  const state = new State(series, smoothing);
  let known = 0;
  return origins.map((origin) => {
    for (; known < origin; known += 1) {
      state.take(known, series[known] ?? 0);
    }
    return state.ahead(origin, steps);
  });
}

function fitSmoothing(known: Series): Smoothing {
  let best = grid[0] as Smoothing;
  let least = Number.POSITIVE_INFINITY;
  for (const smoothing of grid) {
    const state = new State(known, smoothing);
    let error = 0;
    for (let day = 0; day < known.length && error < least; day += 1) {
      const off = state.take(day, known[day] ?? 0);
      error += day < warmUpDays ? 0 : off * off;
    }
    if (error < least) {
      [best, least] = [smoothing, error];
    }
  }
  return best;
}
