/** The used part of a limit, as calls show it before a limit denies them. */
import type { Counters, LimitWindow } from './admission.ts';
import { lifetime, type Window } from './windows.ts';

export interface LimitUse {
  /** Settled amount in percent of the capacity, rounded down. */
  readonly percent: number;
  /** Null if the limit does not reset. */
  readonly window: Window | null;
}

const warningPercentages = [95, 80];

/** Returns the highest percentage to warn of that is reached; undefined if none is. */
export function warningOf({ percent }: LimitUse): number | undefined {
  return warningPercentages.find((warning) => percent >= warning);
}

/**
 * Returns the limit of cost that is used most; undefined if none applies. Amounts that are held do not count, because most of them are
 * released. A prepaid balance is left out: after top-ups, the used part of all deposits says nothing.
 */
export function fullestLimit(counters: Counters, windows: readonly LimitWindow[]): LimitUse | undefined {
  let fullest: LimitUse | undefined;
  for (const { limit, window, key } of windows) {
    const { unit, kind, enforcement, capacity } = limit;
    const counter = counters.get(key);
    if (
      unit !== 'usd' ||
      kind === 'credits' ||
      kind === 'prepaid' ||
      enforcement !== 'block' ||
      counter === undefined
    ) {
      continue;
    }
    const percent = capacity > 0n ? Number((counter.settled * 100n) / capacity) : 100;
    if (fullest === undefined || percent > fullest.percent) {
      fullest = { percent, window: window.endMs === lifetime.endMs ? null : window };
    }
  }
  return fullest;
}
