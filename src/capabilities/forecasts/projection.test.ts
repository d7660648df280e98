import fc from 'fast-check';
import { expect, test } from 'vitest';
import { methodFor, project, qualityFor } from './projection.ts';

const series = (days: number, value: (number: number) => number) =>
  Array.from({ length: days }, (_, number) => ({ number, value: value(number) }));
const next = (days: number, count: number) => Array.from({ length: count }, (_, index) => days + index);
const expected = (days: number, value: (number: number) => number, count: number) =>
  project(series(days, value), next(days, count)).map((day) => day.expected);

test('the method follows from how many days there are', () => {
  expect([0, 1, 6, 7, 20, 21, 90].map(methodFor)).toEqual([
    'none',
    'mean',
    'mean',
    'trend',
    'trend',
    'trend_and_weekday',
    'trend_and_weekday',
  ]);
});

test('the quality falls with a short history and with a long way ahead', () => {
  expect([qualityFor(0, 1), qualityFor(20, 1), qualityFor(21, 22), qualityFor(21, 21)]).toEqual([
    'none',
    'low',
    'low',
    'fair',
  ]);
  expect([qualityFor(55, 1), qualityFor(56, 29), qualityFor(56, 28)]).toEqual(['fair', 'fair', 'good']);
});

test('without history there is nothing, and no band', () => {
  expect(project([], [0, 1])).toEqual([
    { expected: 0, low: null, high: null },
    { expected: 0, low: null, high: null },
  ]);
});

test('a few days give their mean, whatever the way they went', () => {
  expect(expected(4, (number) => number, 2)).toEqual([1.5, 1.5]);
  expect(project([{ number: 3, value: 8 }], [4])).toEqual([{ expected: 8, low: null, high: null }]);
});

test('a straight line goes on as it was, with no band to speak of', () => {
  const [first, last] = project(
    series(10, (number) => 5 + 2 * number),
    [10, 99],
  );
  expect(first?.expected).toBeCloseTo(25);
  expect(last?.expected).toBeCloseTo(203);
  expect((last?.high ?? 0) - (last?.low ?? 0)).toBeLessThan(1e-9);
});

test('weekdays and a trend together are found exactly', () => {
  const week = [10, 12, 14, 12, 10, 1, 0];
  const value = (number: number) => (week[number % 7] ?? 0) + 0.5 * number;
  // Not whole weeks: no weekday may be favoured for being seen once more.
  const days = 24;
  const found = expected(days, value, 14);
  for (const [index, number] of next(days, 14).entries()) {
    expect(found[index]).toBeCloseTo(value(number));
  }
});

test('a falling line stops at zero', () => {
  const days = project(
    series(14, (number) => 13 - number),
    next(14, 30),
  );
  expect(days.at(-1)).toEqual({ expected: 0, low: 0, high: 0 });
});

test('the band holds about four days in five, and widens with the distance', () => {
  // A fixed sequence that scatters evenly: sums of three uniform numbers are close enough to normal.
  let state = 7;
  const uniform = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const noise = () => 10 * (uniform() + uniform() + uniform() - 1.5);
  let inside = 0;
  const rounds = 2_000;
  for (let round = 0; round < rounds; round += 1) {
    const [day] = project(
      series(28, () => 100 + noise()),
      [28],
    );
    const value = 100 + noise();
    inside += value >= (day?.low ?? 0) && value <= (day?.high ?? 0) ? 1 : 0;
  }
  expect(inside / rounds).toBeGreaterThan(0.75);
  expect(inside / rounds).toBeLessThan(0.85);

  const widths = project(
    series(28, () => 100 + noise()),
    [28, 56, 112],
  ).map(({ low, high }) => (high ?? 0) - (low ?? 0));
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
  expect(new Set(widths).size).toBe(3);
});

test('whatever the history, every figure is finite, in order and not below zero', () => {
  const values = fc.array(fc.integer({ min: 0, max: 10 ** 15 }), { maxLength: 90 });
  fc.assert(
    fc.property(values, (history) => {
      const days = history.map((value, number) => ({ number, value }));
      for (const { expected: middle, low, high } of project(days, next(history.length, 30))) {
        const all = [low ?? middle, middle, high ?? middle];
        expect(all.every((value) => Number.isFinite(value) && value >= 0)).toBe(true);
        expect(all).toEqual([...all].sort((a, b) => a - b));
      }
    }),
  );
});
