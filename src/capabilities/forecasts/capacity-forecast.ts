/** What the days to come will cost and how much will run, by what the days gone by were like. */
import { refuse } from '../../contract/refusal.ts';
import { formatUsd } from '../../kernel/money.ts';
import { calendarWindow } from '../../kernel/windows.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { beginnings, findTimezone, labelOf, sumUsage, type UsageGroup } from '../usage/index.ts';
import { methodFor, type Projected, project, qualityFor } from './projection.ts';
import { type CapacityForecastQuery, type CapacityForecastView, horizonDays } from './schema.ts';

const dayMs = 86_400_000;
const historyDaysMax = 90;

export async function forecastCapacity(
  db: Queryable,
  orgId: string,
  { deployment, horizon_days = horizonDays.fallback, scenario }: CapacityForecastQuery,
  now: Date,
): Promise<CapacityForecastView> {
  if (scenario !== undefined) {
    throw refuse('not_found', 'There is no such scenario.');
  }
  const timezone = await findTimezone(db, orgId);
  const todayMs = calendarWindow('day', timezone, now.getTime()).startMs;
  const { total, history } = await readHistory(db, { orgId, deployment, timezone, todayMs, now });
  const firstAhead = numberOf(labelOf('day', timezone, todayMs));
  const ahead = Array.from({ length: horizon_days }, (_, index) => firstAhead + index);
  const projectOf = (measure: (sums: UsageGroup) => bigint) =>
    project(
      history.map((sums, index) => ({
        number: firstAhead - history.length + index,
        value: sums === undefined ? 0 : Number(measure(sums)),
      })),
      ahead,
    );
  const cost = projectOf(({ usd_nanos }) => BigInt(usd_nanos));
  const runs = projectOf((sums) => BigInt(sums.runs));
  const tokens = projectOf(tokensOf);
  const days = history.length;
  return {
    deployment: deployment ?? null,
    horizon_days,
    timezone,
    method: methodFor(days),
    quality: qualityFor(days, horizon_days),
    history: {
      from: days === 0 ? null : dateOf(firstAhead - days),
      to: days === 0 ? null : dateOf(firstAhead - 1),
      days,
      runs: Number(total.runs),
      tokens: Number(tokensOf(total)),
      cost_usd: formatUsd(BigInt(total.usd_nanos)),
    },
    total: {
      cost_usd: usdOf(totalOf(cost)),
      runs: hundredths(totalOf(runs)),
      tokens: hundredths(totalOf(tokens)),
    },
    days: ahead.map((number, index) => ({
      date: dateOf(number),
      cost_usd: shown(cost[index], usdOf),
      runs: shown(runs[index], hundredths),
      tokens: shown(tokens[index], hundredths),
    })),
  };
}

interface HistoryWanted {
  readonly orgId: string;
  readonly deployment: string | undefined;
  readonly timezone: string;
  /** Where today begins, which is where history ends. */
  readonly todayMs: number;
  readonly now: Date;
}

async function readHistory(db: Queryable, { orgId, deployment, timezone, todayMs, now }: HistoryWanted) {
  // Half a day short, so that it is the same number of days also where daylight saving makes them longer.
  const starts = beginnings('day', timezone, {
    fromMs: todayMs - (historyDaysMax - 0.5) * dayMs,
    toMs: todayMs,
  });
  const { total, groups } = await sumUsage(db, {
    orgId,
    range: { fromMs: starts[0] ?? todayMs, toMs: todayMs },
    now,
    filters: deployment === undefined ? {} : { deployment },
    groupBy: [{ kind: 'span', name: 'day', startsMs: starts }],
    after: undefined,
    limit: historyDaysMax,
  });
  return { total, history: withoutGaps(groups, starts.length) };
}

/** From the first day with a run up to yesterday. A day between without any is a day of history too. */
function withoutGaps(groups: readonly UsageGroup[], daysMax: number): (UsageGroup | undefined)[] {
  const byPlace = new Map(groups.map((sums) => [Number(sums.values[0]), sums]));
  const first = Number(groups[0]?.values[0] ?? daysMax + 1);
  return Array.from({ length: daysMax + 1 - first }, (_, index) => byPlace.get(first + index));
}

/** Cached and cache-write tokens are part of the input. */
function tokensOf(sums: Pick<UsageGroup, 'input_tokens' | 'output_tokens'>): bigint {
  return BigInt(sums.input_tokens) + BigInt(sums.output_tokens);
}

function numberOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

function dateOf(number: number): string {
  return new Date(number * dayMs).toISOString().slice(0, 10);
}

function totalOf(days: readonly Projected[]): number {
  return days.reduce((sum, { expected }) => sum + expected, 0);
}

function shown<Value>(day: Projected | undefined, view: (value: number) => Value) {
  const { expected, low, high } = day as Projected;
  return {
    expected: view(expected),
    low: low === null ? null : view(low),
    high: high === null ? null : view(high),
  };
}

/** More digits than a millionth of a dollar would claim a precision that no projection has. */
function usdOf(nanos: number): string {
  return formatUsd(BigInt(Math.round(nanos / 1_000)) * 1_000n);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
