/** On which of the days to come a limit runs out, if they go as forecast. Day 0 is what is left of today. */
import type { Estimate } from './forecast.ts';

/** What each day takes: as expected, and where all of them together lie at the ends of their band. */
export interface DaysAhead {
  readonly expected: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** From the sums of a forecast. `todayLeft`: the part of today, from 0 to 1, that is still to come. */
export function daysAhead(sums: readonly Estimate[], todayLeft: number): DaysAhead {
  const daily = (of: (sum: Estimate) => number) => {
    let before = 0;
    return sums.map((sum, day) => {
      const taken = Math.max(0, of(sum) - before);
      before = Math.max(before, of(sum));
      return day === 0 ? taken * todayLeft : taken;
    });
  };
  return {
    expected: daily(({ expected }) => expected),
    low: daily(({ expected, low }) => low ?? expected),
    high: daily(({ expected, high }) => high ?? expected),
  };
}

export interface LimitAhead {
  readonly capacity: number;
  /** Of the present window. */
  readonly left: number;
  /** For each day the window it belongs to: equal for days of the same one. */
  readonly windows: readonly number[];
}

/** The day on which more is wanted than is left. What is used up is used up today. */
export function dayOfRunningOut(
  { capacity, left, windows }: LimitAhead,
  days: readonly number[],
): number | undefined {
  if (left <= 0) {
    return 0;
  }
  let leftNow = left;
  for (const [day, taken] of days.entries()) {
    if (day > 0 && windows[day] !== windows[day - 1]) {
      leftNow = capacity;
    }
    leftNow -= taken;
    if (leftNow < 0) {
      return day;
    }
  }
  return undefined;
}

export interface PackAhead {
  readonly left: number;
  /** The last day on which it can be used; null: for ever. */
  readonly lastDay: number | null;
}

/** The same for packs that are burned one after the other, in this order. One that lapses first never runs out. */
export function daysOfPacksRunningOut(
  packs: readonly PackAhead[],
  days: readonly number[],
): (number | undefined)[] {
  const left = packs.map((pack) => pack.left);
  const ranOut = left.map((amount): number | undefined => (amount <= 0 ? 0 : undefined));
  for (const [day, taken] of days.entries()) {
    let wanted = taken;
    for (const [index, { lastDay }] of packs.entries()) {
      const there = left[index] ?? 0;
      if (wanted > 0 && there > 0 && (lastDay === null || day <= lastDay)) {
        const used = Math.min(wanted, there);
        wanted -= used;
        left[index] = there - used;
        ranOut[index] = left[index] === 0 ? day : undefined;
      }
    }
  }
  return ranOut;
}
