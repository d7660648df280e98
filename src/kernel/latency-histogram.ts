/**
 * How long runs took, as counts of steps that grow by a tenth each. Histograms of parts add up to that of the whole, so
 * percentiles of any group come from sums. A percentile is told as the middle of its step, which is off by at most 4.8 %
 * of what it stands for, whatever its size.
 *
 * Written down, a histogram is a list of pairs of four bytes, the step and how often, in any order; the same step may
 * come more than once. So two of them are added by writing one behind the other, which any database can do.
 */

/** Each step reaches a tenth further than the one before. 255 of them reach beyond a year. */
const growth = 1.1;
const logGrowth = Math.log(growth);
const stepMax = 255;
const pairBytes = 4;
const pairCountMax = 0xff_ffff;

/** How far a percentile may be off, as a part of it. */
export const relativeError = (growth - 1) / (growth + 1);

/** How often each step occurred. Below zero while what was taken away waits for what it is part of. */
export type Histogram = Map<number, number>;

export function stepOf(latencyMs: number): number {
  return latencyMs <= 1 ? 0 : Math.min(stepMax, Math.ceil(Math.log(latencyMs) / logGrowth));
}

export function count(histogram: Histogram, step: number, times: number): void {
  histogram.set(step, (histogram.get(step) ?? 0) + times);
}

/** As hexadecimal digits. */
export function writeHistogram(histogram: Histogram): string {
  let text = '';
  for (const [step, times] of histogram) {
    for (let left = times; left > 0; left -= pairCountMax) {
      text += (step * (pairCountMax + 1) + Math.min(left, pairCountMax)).toString(16).padStart(8, '0');
    }
  }
  return text;
}

/** Adds what was written, or takes it away. */
export function readInto(histogram: Histogram, bytes: Uint8Array, sign: 1 | -1): void {
  // A year of a busy organization is millions of pairs: those go into a list first, which is many times as quick.
  const times = new Float64Array(stepMax + 1);
  for (let at = 0; at + pairBytes <= bytes.length; at += pairBytes) {
    const step = bytes[at] as number;
    times[step] =
      (times[step] as number) +
      (bytes[at + 1] as number) * 65_536 +
      (bytes[at + 2] as number) * 256 +
      (bytes[at + 3] as number);
  }
  for (const [step, often] of times.entries()) {
    if (often > 0) {
      count(histogram, step, sign * often);
    }
  }
}

export function mergeInto(histogram: Histogram, other: Histogram): void {
  for (const [step, times] of other) {
    count(histogram, step, times);
  }
}

/** The values below which these parts of the runs lie, in milliseconds; undefined where no run said how long it took. */
export function percentiles(histogram: Histogram, parts: readonly number[]): number[] | undefined {
  const steps = [...histogram].filter(([, times]) => times > 0).sort(([a], [b]) => a - b);
  const runs = steps.reduce((sum, [, times]) => sum + times, 0);
  if (runs === 0) {
    return undefined;
  }
  return parts.map((part) => {
    const rank = Math.max(1, Math.ceil(part * runs));
    let below = 0;
    const found = steps.find(([, times]) => {
      below += times;
      return below >= rank;
    });
    return middleOf((found ?? (steps.at(-1) as [number, number]))[0]);
  });
}

/** Within the relative error of everything in the step; a millisecond and less are not told apart. */
function middleOf(step: number): number {
  return step === 0 ? 1 : Math.round((2 * growth ** step) / (growth + 1));
}
