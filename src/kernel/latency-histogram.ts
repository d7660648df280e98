/**
 * Latency histogram with exponential buckets ("steps") that grow by 10 % each. Histograms can be merged by adding
 * their counts, so percentiles of any group can be computed from sums. A percentile is the middle of its step,
 * which is off by at most 4.8 %.
 *
 * Serialized, a histogram is a list of 4-byte pairs of step and count in any order; the same step may occur more
 * than once. So two histograms are merged by concatenation, which every database can do.
 */

/** Growth factor of a step. 255 steps reach beyond a year. */
const growth = 1.1;
const logGrowth = Math.log(growth);
const stepMax = 255;
const pairBytes = 4;
const pairCountMax = 0xff_ffff;

/** Maximum relative error of a percentile, before it is rounded to whole milliseconds. */
export const relativeError = (growth - 1) / (growth + 1);

/** Counts by step. A count can be negative in between, when a histogram is subtracted before the histogram that contains it is added. */
export type Histogram = Map<number, number>;

export function stepOf(latencyMs: number): number {
  return latencyMs <= 1 ? 0 : Math.min(stepMax, Math.ceil(Math.log(latencyMs) / logGrowth));
}

export function count(histogram: Histogram, step: number, times: number): void {
  histogram.set(step, (histogram.get(step) ?? 0) + times);
}

/** Serializes a histogram as hexadecimal digits. */
export function writeHistogram(histogram: Histogram): string {
  let text = '';
  for (const [step, times] of histogram) {
    for (let left = times; left > 0; left -= pairCountMax) {
      text += (step * (pairCountMax + 1) + Math.min(left, pairCountMax)).toString(16).padStart(8, '0');
    }
  }
  return text;
}

/** Adds or subtracts a serialized histogram. */
export function readInto(histogram: Histogram, bytes: Uint8Array, sign: 1 | -1): void {
  // A year of a busy org has millions of pairs: summing them in an array first is many times faster.
  const times = new Float64Array(stepMax + 1);
  for (let at = 0; at + pairBytes <= bytes.length; at += pairBytes) {
    const step = bytes[at] as number;
    times[step] =
      (times[step] as number) +
      (bytes[at + 1] as number) * 65_536 +
      (bytes[at + 2] as number) * 256 +
      (bytes[at + 3] as number);
  }
  for (const [step, total] of times.entries()) {
    if (total > 0) {
      count(histogram, step, sign * total);
    }
  }
}

export function mergeInto(histogram: Histogram, other: Histogram): void {
  for (const [step, times] of other) {
    count(histogram, step, times);
  }
}

/** Returns the percentiles in milliseconds; undefined if no run has a latency. */
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

/**
 * Returns the value that is within the relative error of all values of the step. Latencies up to one millisecond
 * are not distinguished.
 */
function middleOf(step: number): number {
  return step === 0 ? 1 : Math.round((2 * growth ** step) / (growth + 1));
}
