import { describe, expect, test } from 'vitest';
import { dayOfRunningOut, daysAhead, daysOfPacksRunningOut } from './run-out.ts';

const estimate = (expected: number, low: number | null, high: number | null) => ({ expected, low, high });

test('daily usage is computed from sums, and today only counts its remaining fraction', () => {
  const days = daysAhead([estimate(10, 6, 20), estimate(20, 14, 38), estimate(30, 12, 60)], 0.25);
  expect(days.expected).toEqual([2.5, 10, 10]);
  expect(days.high).toEqual([5, 18, 22]);
  // The lower bound of a sum may decrease, but the usage of a day is never negative.
  expect(days.low).toEqual([1.5, 8, 0]);
});

test('without a band the ends equal the expected value', () => {
  expect(daysAhead([estimate(4, null, null)], 1)).toEqual({ expected: [4], low: [4], high: [4] });
});

describe('a limit', () => {
  const month = (length: number) => Array<number>(length).fill(1);
  const ahead = (capacity: number, left: number, windows: readonly number[]) => ({
    capacities: windows.map(() => capacity),
    left,
    windows,
  });

  test('runs out on the day that exceeds the remaining amount, not when it is reached exactly', () => {
    expect(dayOfRunningOut(ahead(30, 20, month(4)), [10, 10, 1, 0])).toBe(2);
    expect(dayOfRunningOut(ahead(30, 20, month(2)), [10, 10])).toBeUndefined();
  });
  test('a limit is full again in the next window', () => {
    expect(dayOfRunningOut(ahead(15, 12, [1, 2, 3]), [10, 15, 15])).toBeUndefined();
    expect(dayOfRunningOut(ahead(15, 12, [1, 2, 3]), [10, 15, 16])).toBe(2);
  });
  test('a limit that is used up or overspent has run out today', () => {
    expect(dayOfRunningOut(ahead(15, 0, [1]), [0])).toBe(0);
    expect(dayOfRunningOut(ahead(15, -3, [1]), [0])).toBe(0);
  });
  test('runs out on the day on which a raise ends, if more than the limit is used by then', () => {
    const raised = { capacities: [30, 30, 20, 20], left: 15, windows: month(4) };
    expect(dayOfRunningOut(raised, [1, 1, 1, 1])).toBeUndefined();
    expect(dayOfRunningOut(raised, [2, 2, 2, 2])).toBe(2);
  });
  test('a limit without usage never runs out', () => {
    expect(dayOfRunningOut(ahead(1, 1, month(3)), [0, 0, 0])).toBeUndefined();
  });
});

describe('packs', () => {
  test('run out one after the other', () => {
    const packs = [
      { left: 10, lastDay: null },
      { left: 15, lastDay: null },
      { left: 100, lastDay: null },
    ];
    expect(daysOfPacksRunningOut(packs, [10, 10, 10])).toEqual([0, 2, undefined]);
  });
  test('packs that expire first never run out, and the others are burned instead', () => {
    const packs = [
      { left: 100, lastDay: 1 },
      { left: 10, lastDay: null },
    ];
    expect(daysOfPacksRunningOut(packs, [5, 5, 5, 5])).toEqual([undefined, 3]);
  });
  test('packs that are empty have run out today', () => {
    expect(daysOfPacksRunningOut([{ left: 0, lastDay: null }], [1])).toEqual([0]);
  });
});
