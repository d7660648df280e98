/**
 * Generates some weeks of realistic runs, by working day and hour, by workflow and its models, for customers of very different
 * sizes. Pure, and deterministic for a given seed and time.
 */
import { customers, type Workflow, workflows } from './company.ts';
import { type Random, randomOf } from './random.ts';

/** A run in the format of `POST /v1/runs/bulk?enforcement=record`. */
export interface DemoRun {
  readonly external_id: string;
  readonly model: string;
  readonly provider: string;
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly action: string;
  readonly workflow: string;
  readonly deployment: string;
  readonly department: string;
  readonly team: string;
  readonly customer_id?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly value_usd?: string;
  readonly latency_ms: number;
  readonly started_at: string;
  readonly finished_at: string;
}

export interface HistoryOptions {
  readonly seed: number;
  readonly now: Date;
  readonly days: number;
  readonly runs: number;
}

const dayMs = 86_400_000;
/** Relative load of each hour of a working day, from midnight. */
const hours = [2, 1, 1, 1, 1, 2, 4, 8, 14, 18, 19, 18, 14, 16, 19, 19, 17, 13, 9, 7, 6, 5, 4, 3];
const weekendShare = 0.3;
/** Load of the last day relative to the first. */
const growth = 1.8;
const failedShare = 0.025;
const cancelledShare = 0.01;

/** Yields the oldest run first, so that runs are recorded in chronological order. */
export function* history({ seed, now, days, runs }: HistoryOptions): Generator<DemoRun> {
  const random = randomOf(seed);
  const slots = busyHours(now, days);
  const busyness = slots.reduce((sum, { weight }) => sum + weight, 0);
  let due = 0;
  let made = 0;
  for (const { startMs, endMs, weight } of slots) {
    due += (runs * weight) / busyness;
    const times = Array.from({ length: Math.round(due) - made }, () => random.between(startMs, endMs));
    for (const startedMs of times.sort((a, b) => a - b)) {
      made += 1;
      yield pastRun(random, `demo-${made}`, startedMs, now.getTime());
    }
  }
}

interface Slot {
  readonly startMs: number;
  readonly endMs: number;
  readonly weight: number;
}

function busyHours(now: Date, days: number): Slot[] {
  const hourMs = dayMs / hours.length;
  const firstMs = Math.floor((now.getTime() - days * dayMs) / hourMs) * hourMs;
  const slots: Slot[] = [];
  for (let startMs = firstMs; startMs < now.getTime(); startMs += hourMs) {
    const endMs = Math.min(startMs + hourMs, now.getTime());
    const start = new Date(startMs);
    const isWeekend = start.getUTCDay() % 6 === 0;
    const share = (startMs - firstMs) / (days * dayMs);
    const weight =
      (hours[start.getUTCHours()] ?? 1) * (isWeekend ? weekendShare : 1) * (1 + (growth - 1) * share);
    slots.push({ startMs, endMs, weight: weight * ((endMs - startMs) / hourMs) });
  }
  return slots;
}

function pastRun(random: Random, externalId: string, startedMs: number, nowMs: number): DemoRun {
  const workflow = random.weighted(workflows);
  const { name: model, provider, tokensPerSecond } = random.weighted(workflow.models);
  const inputTokens = Math.round(random.around(workflow.inputTokens));
  const outputTokens = Math.round(random.around(workflow.outputTokens));
  const latencyMs = Math.round(300 + (outputTokens / random.around(tokensPerSecond)) * 1_000);
  const luck = random.fraction();
  const status =
    luck < failedShare ? 'failed' : luck < failedShare + cancelledShare ? 'cancelled' : 'succeeded';
  const value = status === 'succeeded' ? random.around(workflow.valueUsd) : 0;
  return {
    external_id: externalId,
    model,
    provider,
    status,
    action: workflow.action,
    workflow: workflow.name,
    deployment: random.fraction() < 0.62 ? 'production-eu' : 'production-us',
    department: workflow.department,
    team: random.pick(workflow.teams),
    ...(workflow.forCustomers && { customer_id: random.weighted(customers).id }),
    tags: tagsOf(random, workflow),
    input_tokens: inputTokens,
    cached_input_tokens: Math.round(inputTokens * workflow.cachedShare * random.fraction()),
    output_tokens: outputTokens,
    ...(value > 0 && { value_usd: value.toFixed(4) }),
    latency_ms: latencyMs,
    started_at: new Date(startedMs).toISOString(),
    finished_at: new Date(Math.min(startedMs + latencyMs, nowMs)).toISOString(),
  };
}

function tagsOf(random: Random, { features }: Workflow): Record<string, string> {
  return { feature: random.pick(features), release: random.fraction() < 0.9 ? 'stable' : 'canary' };
}
