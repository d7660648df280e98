import { expect, test } from 'vitest';
import {
  count,
  type Histogram,
  mergeInto,
  percentiles,
  readInto,
  relativeError,
  stepOf,
  writeHistogram,
} from './latency-histogram.ts';

const parts = [0.5, 0.9, 0.95, 0.99];
const histogramOf = (latencies: readonly number[]) => {
  const histogram: Histogram = new Map();
  for (const ms of latencies) {
    count(histogram, stepOf(ms), 1);
  }
  return histogram;
};
const bytesOf = (histogram: Histogram) => Buffer.from(writeHistogram(histogram), 'hex');

/** Latencies over six orders of magnitude, the same in every run. */
const latencies = Array.from({ length: 5_000 }, (_, i) =>
  Math.ceil(10 ** (((i * 0.618_033_988_75) % 1) * 6)),
);

test('a percentile is within the documented error of the actual value', () => {
  const sorted = [...latencies].sort((a, b) => a - b);
  const told = percentiles(histogramOf(latencies), parts) ?? [];
  const off = parts.map((part, i) => {
    const exact = sorted[Math.ceil(part * sorted.length) - 1] as number;
    return Math.abs((told[i] as number) - exact) / exact;
  });
  expect(Math.max(...off)).toBeLessThanOrEqual(relativeError + 0.001);
  expect(relativeError).toBeLessThan(0.048);
});

test('concatenated histograms equal the whole, and can be subtracted again', () => {
  const first = histogramOf(latencies.slice(0, 2_000));
  const rest = histogramOf(latencies.slice(2_000));
  const read: Histogram = new Map();
  readInto(read, Buffer.concat([bytesOf(first), bytesOf(rest)]), 1);
  const merged: Histogram = new Map(first);
  mergeInto(merged, rest);
  for (const whole of [read, merged]) {
    expect(percentiles(whole, parts)).toEqual(percentiles(histogramOf(latencies), parts));
  }
  readInto(read, bytesOf(first), -1);
  expect(percentiles(read, parts)).toEqual(percentiles(rest, parts));
});

test('a count that exceeds a pair is split into several', () => {
  const many: Histogram = new Map([[stepOf(800), 40_000_000]]);
  const read: Histogram = new Map();
  readInto(read, bytesOf(many), 1);
  expect(read).toEqual(many);
});

test.each([
  [0, 1],
  [1, 1],
  [31_536_000_000, 31_536_000_000],
])('%i ms is in the expected step', (ms, expected) => {
  const [told = 0] = percentiles(histogramOf([ms]), [0.5]) ?? [];
  expect(Math.abs(told - expected)).toBeLessThanOrEqual(expected * relativeError);
});

test('an empty histogram has no percentiles', () => {
  expect(percentiles(new Map(), parts)).toBeUndefined();
});
