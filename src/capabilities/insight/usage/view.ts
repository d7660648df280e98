/** Formats usage sums for responses. */
import { kindOfCode } from '../../../kernel/cost-parts.ts';
import { percentiles } from '../../../kernel/latency-histogram.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { GroupSums, UsageGroup } from './queries.ts';
import type { GroupBy } from './rows.ts';
import type { UsageRow, UsageSums, UsageTotal } from './schema.ts';
import { spanLabel } from './time-spans.ts';

export function viewGroup(group: UsageGroup, groupBy: readonly GroupBy[], timezone: string): UsageRow {
  const values: Record<string, string | null> = {};
  const tags: Record<string, string | null> = {};
  for (const [index, one] of groupBy.entries()) {
    const value = group.values[index] ?? '';
    if (one.kind === 'span') {
      values[one.name] = spanLabel(one.name, timezone, one.startsMs[Number(value) - 1] ?? 0);
    } else {
      (one.kind === 'tag' ? tags : values)[one.name] = shownValue(one, value);
    }
  }
  return {
    ...values,
    ...(groupBy.some(({ kind }) => kind === 'tag') && { tags }),
    ...viewCompared(group),
  };
}

/** Null: the runs have no value. */
export function shownValue({ kind }: GroupBy, value: string): string | null {
  if (kind === 'part') {
    return kindOfCode(value);
  }
  return value === '' ? null : value;
}

export function viewCompared({ previous, ...sums }: GroupSums & Pick<UsageGroup, 'previous'>): UsageTotal {
  return previous === undefined
    ? viewSums(sums)
    : { ...viewSums(sums), previous: viewSums(previous), change: changeOf(sums, previous) };
}

const percentileRanks = [0.5, 0.9, 0.95, 0.99] as const;

export function viewSums(sums: GroupSums): UsageSums {
  const cost = BigInt(sums.usd_nanos);
  const returned = BigInt(sums.value_nanos) - cost;
  const [p50 = null, p90 = null, p95 = null, p99 = null] = percentiles(sums.latencies, percentileRanks) ?? [];
  return {
    runs: Number(sums.runs),
    failed_runs: Number(sums.failed_runs),
    failure_rate: ratioOf(sums.failed_runs, sums.runs),
    input_tokens: Number(sums.input_tokens),
    cached_input_tokens: Number(sums.cached_input_tokens),
    cache_write_tokens: Number(sums.cache_write_tokens),
    output_tokens: Number(sums.output_tokens),
    cost_usd: formatUsd(cost),
    value_usd: formatUsd(BigInt(sums.value_nanos)),
    return_usd: formatUsd(returned),
    return_ratio: ratioOf(returned, cost),
    latency_p50_ms: p50,
    latency_p90_ms: p90,
    latency_p95_ms: p95,
    latency_p99_ms: p99,
    cache_savings_usd: formatUsd(BigInt(sums.cache_savings_nanos)),
    quantity: sums.quantity === null ? null : Number(sums.quantity),
  };
}

function changeOf(sums: GroupSums, previous: GroupSums): NonNullable<UsageTotal['change']> {
  const runs = BigInt(sums.runs) - BigInt(previous.runs);
  const cost = BigInt(sums.usd_nanos) - BigInt(previous.usd_nanos);
  return {
    runs: Number(runs),
    runs_ratio: ratioOf(runs, previous.runs),
    cost_usd: formatUsd(cost),
    cost_ratio: ratioOf(cost, previous.usd_nanos),
  };
}

function ratioOf(part: string | bigint, whole: string | bigint): number | null {
  return Number(whole) === 0 ? null : Math.round((Number(part) / Number(whole)) * 1e6) / 1e6;
}
