import { expect, test } from 'vitest';
import { aggregate, type BenchmarkFigures, figuresOf, metricNames, quarterOf, roundTo2 } from './figures.ts';

const floor = 3;
const org = (value: number | null, modelShares: Record<string, number> = {}): BenchmarkFigures => ({
  metrics: Object.fromEntries(metricNames.map((name) => [name, value])) as BenchmarkFigures['metrics'],
  modelShares,
});
const costsOf = (...blocks: (number | null)[][]) =>
  aggregate(
    blocks.map((values) => values.map((value) => org(value))),
    floor,
  ).metrics.cost_per_run_usd;

test('figures of an org', () => {
  const usage = {
    runs: 4,
    failedRuns: 1,
    inputTokens: 1_500,
    outputTokens: 500,
    costNanos: 8_000_000,
    latencies: new Map([[50, 4]]),
    runsByModel: new Map([
      ['a', 3],
      ['b', 1],
    ]),
  };
  expect(figuresOf(usage)).toEqual({
    metrics: {
      cost_per_run_usd: 2_000_000,
      cost_per_1k_tokens_usd: 4_000_000,
      output_ratio: 1 / 3,
      failure_rate: 0.25,
      latency_p50_ms: 112,
      latency_p95_ms: 112,
    },
    modelShares: { a: 0.75, b: 0.25 },
  });
  const bare = { ...usage, inputTokens: 0, outputTokens: 0, latencies: new Map() };
  expect(figuresOf(bare)?.metrics).toMatchObject({
    cost_per_1k_tokens_usd: null,
    output_ratio: null,
    latency_p95_ms: null,
  });
  expect(figuresOf({ ...usage, runs: 0 })).toBeUndefined();
  expect(figuresOf(undefined)).toBeUndefined();
});

test('quartiles have equal weight per org: one that spends a million times as much moves them by one rank', () => {
  expect(costsOf([1, 2, 3], [4, 5, 6, 7])).toEqual({ q1: 2.5, median: 4, q3: 5.5 });
  expect(costsOf([1, 2, 3], [4, 5, 6, 7_000_000])).toEqual({ q1: 2.5, median: 4, q3: 5.5 });
});

test('rounds to two significant digits', () => {
  expect([1_234_567, 0.000_123_4, 99.6, 0].map(roundTo2)).toEqual([1_200_000, 0.000_12, 100, 0]);
});

test('excludes a block from a figure that too few of its orgs have', () => {
  expect(costsOf([1, 2, 3, 4], [9, 9, null])).toEqual(costsOf([1, 2, 3, 4]));
  expect(costsOf([1, 2, null], [9, 9, null])).toBeNull();
});

test('omits models that few orgs use, or that one org dominates', () => {
  const members = [
    org(1, { common: 0.5, rare: 0.2, mine: 0.3, lopsided: 0 }),
    org(1, { common: 0.4, rare: 0.6, lopsided: 0.01 }),
    org(1, { common: 0.8, lopsided: 0.01 }),
    org(1, { common: 0.1, lopsided: 0.9 }),
  ];
  expect(aggregate([members], floor).modelMix).toEqual([{ model: 'common', share: 0.45 }]);
});

test('a wider cohort minus a narrower one does not reveal a single org', () => {
  const narrow = [0.5, 0.4, 0.8, 0.1].map((share) => org(1, { m: share }));
  const told = (share: number, others: Record<string, number>) =>
    aggregate([narrow, [org(1, { m: share }), org(1, others), org(1, others)]], floor).modelMix;
  expect(aggregate([narrow], floor).modelMix).toEqual([{ model: 'm', share: 0.45 }]);
  // 1.8 of seven orgs, whatever the share of the first org of the second block: that org alone uses the model, or makes
  // up most of its block.
  for (const others of [{}, { m: 0.01 }]) {
    for (const share of [0.03, 0.3, 0.6, 0.95]) {
      expect(told(share, others)).toEqual([{ model: 'm', share: 0.26 }]);
    }
  }
  expect(told(0.3, { m: 0.3 })).toEqual([{ model: 'm', share: 0.39 }]);
});

test('returns the caller’s quarter', () => {
  const quartiles = { q1: 1, median: 2, q3: 3 };
  expect([0, 1, 1.5, 2.5, 3.5].map((value) => quarterOf(value, quartiles))).toEqual([1, 1, 2, 3, 4]);
  // If all orgs have the same value, the caller is in the first quarter, although the quartiles are rounded.
  const same = aggregate([[org(1 / 3), org(1 / 3), org(1 / 3)]], floor).metrics.output_ratio;
  expect(same).toEqual({ q1: 0.33, median: 0.33, q3: 0.33 });
  expect(quarterOf(1 / 3, same ?? quartiles)).toBe(1);
});
