/** Predicts the day on which a limit runs out, according to a forecast. Day 0 is the rest of today. */
import type { Estimate } from './forecast.ts';

/** Usage per day: expected, and low and high such that their sums are the lower and upper end of the forecast band. */
export interface DaysAhead {
  readonly expected: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** Computed from the cumulative sums of a forecast. `todayLeft`: the remaining fraction of today, from 0 to 1. */
export function daysAhead(sums: readonly Estimate[], todayLeft: number): DaysAhead {
  const daily = (of: (sum: Estimate) => number) => {
    let before = 0;
    return sums.map((sum, day) => {
      const used = Math.max(0, of(sum) - before);
      before = Math.max(before, of(sum));
      return day === 0 ? used * todayLeft : used;
    });
  };
  return {
    expected: daily(({ expected }) => expected),
    low: daily(({ expected, low }) => low ?? expected),
    high: daily(({ expected, high }) => high ?? expected),
  };
}

export interface LimitAhead {
  /** The capacity on each day, which changes when a raise ends. */
  readonly capacities: readonly number[];
  /** Remaining amount of the current window. */
  readonly left: number;
  /** Window id of each day: equal for days of the same window. */
  readonly windows: readonly number[];
}

/** Returns the day on which the usage exceeds the remaining amount; 0 if nothing remains. */
export function dayOfRunningOut(
  { capacities, left, windows }: LimitAhead,
  days: readonly number[],
): number | undefined {
  if (left <= 0) {
    return 0;
  }
  let leftNow = left;
  for (const [day, used] of days.entries()) {
    const capacity = capacities[day] ?? 0;
    if (day > 0) {
      leftNow =
        windows[day] === windows[day - 1] ? leftNow + capacity - (capacities[day - 1] ?? 0) : capacity;
    }
    leftNow -= used;
    if (leftNow < 0) {
      return day;
    }
  }
  return undefined;
}

export interface PackAhead {
  readonly left: number;
  /** The last day on which the pack can be used; null: no expiry. */
  readonly lastDay: number | null;
}

/**
 * Returns the day on which each pack runs out. Packs are burned in the given order. A pack that expires before it is used up never
 * runs out.
 */
export function daysOfPacksRunningOut(
  packs: readonly PackAhead[],
  days: readonly number[],
): (number | undefined)[] {
  const left = packs.map((pack) => pack.left);
  const ranOut = left.map((amount): number | undefined => (amount <= 0 ? 0 : undefined));
  for (const [day, used] of days.entries()) {
    let wanted = used;
    for (const [index, { lastDay }] of packs.entries()) {
      const there = left[index] ?? 0;
      if (wanted > 0 && there > 0 && (lastDay === null || day <= lastDay)) {
        const burned = Math.min(wanted, there);
        wanted -= burned;
        left[index] = there - burned;
        ranOut[index] = left[index] === 0 ? day : undefined;
      }
    }
  }
  return ranOut;
}
