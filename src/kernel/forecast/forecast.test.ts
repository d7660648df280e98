import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../../test/support/seeds.ts';
import { judgeForecasts, seededRandom, seriesKinds } from '../../../test/support/series.ts';
import { type Estimate, forecast, qualityFor } from './forecast.ts';
import { findShift } from './level-shift.ts';

const { forAll } = seedsOf('forecast');

const series = (days: number, value: (day: number) => number) =>
  Array.from({ length: days }, (_, day) => value(day));
const expectedOf = (history: readonly number[], steps: number) =>
  forecast(history, steps).days.map(({ expected }) => expected);

describe('compared with repeating the previous week', () => {
  const judged = judgeForecasts({ seeds: 60 });

  test('the forecast is better on average, per day and in total', () => {
    const average = (of: (one: (typeof judged)[number]) => number) =>
      judged.reduce((sum, one) => sum + of(one), 0) / judged.length;
    expect(average(({ dailyRatio }) => dailyRatio)).toBeLessThan(0.9);
    expect(average(({ totalRatio }) => totalRatio)).toBeLessThan(0.9);
  });

  test.each(judged.map((one) => [one.name, one] as const))('%s: never worse than 1.2 times', (_, one) => {
    expect(one.dailyRatio).toBeLessThanOrEqual(1.2);
    expect(one.totalRatio).toBeLessThanOrEqual(1.2);
  });

  test('80 % of the days and totals lie within the band', () => {
    // Random walks are handled separately: their range cannot be predicted from the past.
    const regular = judged.filter(({ kind }) => kind !== 'random walk');
    const average = (of: (one: (typeof judged)[number]) => number) =>
      regular.reduce((sum, one) => sum + of(one), 0) / regular.length;
    expect(average(({ daysCovered }) => daysCovered)).toBeGreaterThan(0.75);
    expect(average(({ daysCovered }) => daysCovered)).toBeLessThan(0.9);
    expect(average(({ totalsCovered }) => totalsCovered)).toBeGreaterThan(0.7);
    expect(average(({ totalsCovered }) => totalsCovered)).toBeLessThan(0.95);
  });
});

test('a linear trend continues, damped with the horizon', () => {
  const days = expectedOf(
    series(60, (day) => 5 + 2 * day),
    30,
  );
  expect(days[0]).toBeGreaterThan(124);
  expect(days[0]).toBeLessThan(126);
  expect(days[29]).toBeGreaterThan(5 + 2 * 89 * 0.85);
  expect(days[29]).toBeLessThan(5 + 2 * 89 + 1);
});

test('a weekday pattern is repeated', () => {
  const week = [10, 12, 14, 12, 10, 1, 0];
  const value = (day: number) => week[day % 7] ?? 0;
  // 31 days are not whole weeks: the season is counted from the end.
  const found = expectedOf(series(31, value), 14);
  for (const [index, expected] of found.entries()) {
    expect(expected).toBeCloseTo(value(31 + index), 5);
  }
});

test('a level shift is detected, and the days before it do not lower the forecast', () => {
  const noise = seededRandom(5);
  const history = series(90, (day) => (day < 60 ? 100 : 300) + 10 * noise());
  expect(findShift(history)).toBe(60);
  for (const expected of expectedOf(history, 28)) {
    expect(expected).toBeGreaterThan(285);
    expect(expected).toBeLessThan(330);
  }
});

test('no level shift is detected in a weekday pattern, a line or zeros', () => {
  expect(findShift(series(60, (day) => (day % 7 < 5 ? 100 : 10)))).toBeUndefined();
  expect(findShift(series(60, (day) => 3 * day))).toBeUndefined();
  expect(findShift(series(60, () => 0))).toBeUndefined();
  expect(findShift(series(20, (day) => (day < 10 ? 0 : 100)))).toBeUndefined();
});

test('after zeros only, the history starts with the shift', () => {
  const days = expectedOf(
    series(60, (day) => (day < 40 ? 0 : 50)),
    7,
  );
  expect(days.every((expected) => Math.abs(expected - 50) < 1e-6)).toBe(true);
});

describe('degenerate histories', () => {
  const plain = ({ expected, low, high }: Estimate) => [expected, low, high];

  test('no history: zero, without a band', () => {
    const { method, days, sums, backtest } = forecast([], 2);
    expect([method, days.map(plain), sums.map(plain), backtest]).toEqual([
      'none',
      [
        [0, null, null],
        [0, null, null],
      ],
      [
        [0, null, null],
        [0, null, null],
      ],
      undefined,
    ]);
  });
  test('one day: the same value, without a band', () => {
    const { method, days, sums } = forecast([8], 2);
    expect([method, days.map(plain), sums.map(plain)]).toEqual([
      'mean',
      [
        [8, null, null],
        [8, null, null],
      ],
      [
        [8, null, null],
        [16, null, null],
      ],
    ]);
  });
  test('a few days: their mean, with a band from their scatter', () => {
    const { method, days } = forecast([4, 8, 6], 1);
    expect([method, days[0]?.expected]).toEqual(['mean', 6]);
    expect(days[0]?.low).toBeLessThan(5);
    expect(days[0]?.high).toBeGreaterThan(7);
  });
  test('a history of only zeros is forecast as zero, with a band of width zero', () => {
    expect(forecast(Array<number>(90).fill(0), 3).days.map(plain)).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });
  test('the largest amounts keep their magnitude', () => {
    const largest = 9e18;
    const { days, sums } = forecast(Array<number>(730).fill(largest), 365);
    expect((days[364]?.expected ?? 0) / largest).toBeCloseTo(1, 9);
    expect((sums[364]?.expected ?? 0) / (365 * largest)).toBeCloseTo(1, 9);
  });
});

test('for any history, all values are finite, ordered and not negative', () => {
  const values = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10 ** 15 })), {
    maxLength: 120,
  });
  forAll(
    fc.property(values, fc.integer({ min: 1, max: 40 }), (history, steps) => {
      const { days, sums } = forecast(history, steps);
      expect([days.length, sums.length]).toEqual([steps, steps]);
      for (const { expected, low, high } of [...days, ...sums]) {
        const all = [low ?? expected, expected, high ?? expected];
        expect(all.every((value) => Number.isFinite(value) && value >= 0)).toBe(true);
        expect(all).toEqual([...all].sort((a, b) => a - b));
      }
    }),
    { numRuns: 60 },
  );
});

test('the input series is not modified', () => {
  const history = seriesKinds['level shift']?.(120, seededRandom(1)) ?? [];
  const before = [...history];
  forecast(history, 28);
  expect(history).toEqual(before);
});

test('the quality decreases with a short history and a long horizon', () => {
  expect([qualityFor(0, 1), qualityFor(20, 1), qualityFor(21, 22), qualityFor(21, 21)]).toEqual([
    'none',
    'low',
    'low',
    'fair',
  ]);
  expect([qualityFor(55, 1), qualityFor(56, 29), qualityFor(56, 28)]).toEqual(['fair', 'fair', 'good']);
});
