/** Figures that an org contributes, and their aggregation. Every org has the same weight, whatever it spends. */
import { percentiles } from '../../../kernel/latency-histogram.ts';
import type { OrgUsage } from '../usage/index.ts';

export const metricNames = [
  'cost_per_run_usd',
  'cost_per_1k_tokens_usd',
  'output_ratio',
  'failure_rate',
  'latency_p50_ms',
  'latency_p95_ms',
] as const;
export type MetricName = (typeof metricNames)[number];

/** Amounts of money are nanodollars. Null: not defined, such as a cost per token without tokens. */
export interface BenchmarkFigures {
  readonly metrics: Readonly<Record<MetricName, number | null>>;
  /** Share of each model in the org's runs, for its most used models only. */
  readonly modelShares: Readonly<Record<string, number>>;
}

/** Maximum number of models per org; the remaining models are a small part of any org's runs. */
const modelsPerOrg = 50;

/** Returns undefined if the org has nothing to contribute. */
export function figuresOf(usage: OrgUsage | undefined): BenchmarkFigures | undefined {
  if (usage === undefined || usage.runs <= 0) {
    return undefined;
  }
  const { runs, costNanos, inputTokens, outputTokens } = usage;
  const tokens = inputTokens + outputTokens;
  const [p50 = null, p95 = null] = percentiles(usage.latencies, [0.5, 0.95]) ?? [];
  const shares = [...usage.runsByModel]
    .sort(([, a], [, b]) => b - a)
    .slice(0, modelsPerOrg)
    .map(([model, times]) => [model, times / runs]);
  return {
    metrics: {
      cost_per_run_usd: costNanos / runs,
      cost_per_1k_tokens_usd: tokens === 0 ? null : (costNanos * 1_000) / tokens,
      output_ratio: inputTokens === 0 ? null : outputTokens / inputTokens,
      failure_rate: usage.failedRuns / runs,
      latency_p50_ms: p50,
      latency_p95_ms: p95,
    },
    modelShares: Object.fromEntries(shares),
  };
}

export interface Quartiles {
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
}

export interface ModelShare {
  readonly model: string;
  readonly share: number;
}

export interface Aggregate {
  readonly metrics: Readonly<Record<MetricName, Quartiles | null>>;
  readonly modelMix: readonly ModelShare[];
}

/**
 * Aggregates whole blocks. A block in which fewer orgs than the minimum have a figure is excluded from that figure, so
 * that rare figures are never about fewer orgs either.
 */
export function aggregate(blocks: readonly (readonly BenchmarkFigures[])[], floor: number): Aggregate {
  const metrics = metricNames.map((name) => {
    const values = blocks.flatMap((members) => {
      const told = members.flatMap((one) => one.metrics[name] ?? []);
      return told.length < floor ? [] : told;
    });
    return [name, values.length < floor ? null : quartilesOf(values)];
  });
  return { metrics: Object.fromEntries(metrics), modelMix: modelMixOf(blocks, floor) };
}

function quartilesOf(values: readonly number[]): Quartiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => {
    const position = part * (sorted.length - 1);
    const below = sorted[Math.floor(position)] as number;
    const above = sorted[Math.ceil(position)] as number;
    return roundTo2(below + (above - below) * (position - Math.floor(position)));
  };
  return { q1: at(0.25), median: at(0.5), q3: at(0.75) };
}

/** Rounds to two significant digits: enough for a comparison, too coarse to detect the change of one org. */
export function roundTo2(value: number): number {
  return Number(value.toPrecision(2));
}

/** Maximum share of one org in the figure of a model in a block. */
const dominantPart = 0.5;

/**
 * Mean of the orgs' shares, in whole percent. A block includes a model only if enough of its orgs use it and no org
 * makes up more than half. So the difference between a wider and a narrower response is never the usage of a single
 * org.
 */
function modelMixOf(blocks: readonly (readonly BenchmarkFigures[])[], floor: number): ModelShare[] {
  const sums = new Map<string, number>();
  for (const members of blocks) {
    for (const [model, shares] of sharesByModel(members)) {
      const sum = shares.reduce((total, share) => total + share, 0);
      if (shares.length >= floor && Math.max(...shares) <= dominantPart * sum) {
        sums.set(model, (sums.get(model) ?? 0) + sum);
      }
    }
  }
  const orgs = blocks.flat().length;
  return [...sums]
    .map(([model, sum]) => ({ model, share: Math.round((sum / orgs) * 100) / 100 }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share || (a.model < b.model ? -1 : 1));
}

function sharesByModel(members: readonly BenchmarkFigures[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { modelShares } of members) {
    for (const [model, share] of Object.entries(modelShares)) {
      found.set(model, [...(found.get(model) ?? []), share]);
    }
  }
  return found;
}

/**
 * Quarter of the cohort in which a value lies, from 1, the lowest. It follows from figures that the caller gets anyway.
 * The value is rounded like the quartiles: an org with the common value must not rank above it because of a truncated
 * digit.
 */
export function quarterOf(own: number, { q1, median, q3 }: Quartiles): 1 | 2 | 3 | 4 {
  const value = roundTo2(own);
  return value <= q1 ? 1 : value <= median ? 2 : value <= q3 ? 3 : 4;
}
