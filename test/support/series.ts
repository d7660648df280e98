/** Typical daily series of organizations, generated from a seed, for tests of forecasts and for their bench row. */
import { type Estimate, forecast } from '../../src/kernel/forecast/forecast.ts';

export type Random = () => number;

/** Returns a mulberry32 generator of numbers from 0 to 1. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const week = [1.15, 1.2, 1.25, 1.2, 1.1, 0.6, 0.5];
const notBelowZero = (value: number) => Math.max(0, value);

type Generator = (days: number, random: Random) => number[];

const each = (days: number, value: (day: number) => number) =>
  Array.from({ length: days }, (_, day) => notBelowZero(value(day)));

export const seriesKinds: Readonly<Record<string, Generator>> = {
  /** Grows by a fixed amount a day, with a mild weekly pattern. */
  trend: (days, random) => {
    const slope = 0.3 + 0.7 * random();
    return each(days, (day) => 60 + slope * day + 8 * ((week[day % 7] ?? 1) - 1) + 6 * normal(random));
  },
  /** Busy from Monday to Friday, quiet on weekends. */
  'weekly season': (days, random) => each(days, (day) => 100 * (week[day % 7] ?? 1) + 9 * normal(random)),
  /** A new product: from one day on, two to three times as much. */
  'level shift': (days, random) => {
    const at = Math.floor(days * (0.2 + 0.4 * random()));
    const factor = 2 + random();
    return each(days, (day) => (day < at ? 1 : factor) * (50 * (week[day % 7] ?? 1) + 5 * normal(random)));
  },
  /** An occasional batch job: most days are zero. */
  sparse: (days, random) => each(days, () => (random() < 0.15 ? 40 + 60 * random() : 0)),
  /** Grows by a percentage; the weekly pattern grows too. */
  'compound growth': (days, random) => {
    const rate = 0.002 + 0.006 * random();
    return each(days, (day) => 40 * (1 + rate) ** day * (week[day % 7] ?? 1) * (1 + 0.08 * normal(random)));
  },
  /** No pattern: the level changes randomly. */
  'random walk': (days, random) => {
    let level = 100;
    return each(days, () => {
      level = notBelowZero(level + 4 * normal(random));
      return level + 3 * normal(random);
    });
  },
};

export interface Judged {
  readonly name: string;
  readonly kind: string;
  /** Root mean square error of the days, and error of the total, each divided by that of repeating the last week. */
  readonly dailyRatio: number;
  readonly totalRatio: number;
  /** Shares of days and totals that were within their band. */
  readonly daysCovered: number;
  readonly totalsCovered: number;
}

const stepsAhead = 28;
const historyLengths = [60, 120, 180];

/** Forecasts each kind of series from its first days, and compares the forecast with the days that follow. */
export function judgeForecasts({ seeds }: { readonly seeds: number }): Judged[] {
  return Object.keys(seriesKinds).flatMap((kind) =>
    historyLengths.map((days) => ({ kind, name: `${kind}, ${days} days`, ...judge(kind, days, seeds) })),
  );
}

function judge(kind: string, days: number, seeds: number) {
  const ours = { squares: 0, totals: 0, days: 0, sums: 0 };
  const naive = { squares: 0, totals: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const all = seriesKinds[kind]?.(days + stepsAhead, seededRandom(seed * 7_919 + days)) ?? [];
    const [known, future] = [all.slice(0, days), all.slice(days)];
    const ahead = forecast(known, stepsAhead);
    const repeated = future.map((_, day) => known[days - 7 + (day % 7)] ?? 0);
    const total = future.reduce((sum, value) => sum + value, 0);
    for (const [day, value] of future.entries()) {
      const estimate = ahead.days[day] as Estimate;
      ours.squares += (value - estimate.expected) ** 2;
      ours.days += isWithin(value, estimate) ? 1 : 0;
      naive.squares += (value - (repeated[day] ?? 0)) ** 2;
    }
    const estimate = ahead.sums[stepsAhead - 1] as Estimate;
    ours.totals += Math.abs(total - estimate.expected);
    ours.sums += isWithin(total, estimate) ? 1 : 0;
    naive.totals += Math.abs(total - repeated.reduce((sum, value) => sum + value, 0));
  }
  return {
    dailyRatio: Math.sqrt(ours.squares / naive.squares),
    totalRatio: ours.totals / naive.totals,
    daysCovered: ours.days / (seeds * stepsAhead),
    totalsCovered: ours.sums / seeds,
  };
}

/** Tolerates rounding errors, so that an exact zero is within a band that starts at zero. */
function isWithin(value: number, { low, high }: Estimate): boolean {
  return value >= (low ?? 0) - 1e-9 && value <= (high ?? 0) + 1e-9;
}
