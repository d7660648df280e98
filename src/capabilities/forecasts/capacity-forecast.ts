/** What the days to come will cost and how much will run, by what the days gone by were like. */
import { refuse } from '../../contract/refusal.ts';
import { formatUsd } from '../../kernel/money.ts';
import { calendarWindow } from '../../kernel/windows.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { beginnings, findTimezone, labelOf } from '../usage/index.ts';
import { methodFor, type Projected, project, qualityFor } from './projection.ts';
import { type DaySums, sumDays } from './queries.ts';
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
  const today = calendarWindow('day', timezone, now.getTime()).startMs;
  // Half a day short, so that it is the same number of days also where daylight saving makes them longer.
  const starts = beginnings('day', timezone, { fromMs: today - (historyDaysMax - 0.5) * dayMs, toMs: today });
  const booked = await sumDays(
    db,
    orgId,
    deployment,
    starts.map((startMs) => new Date(startMs)),
    new Date(today),
  );
  const history = withoutGaps(booked, starts.length);
  const firstAhead = numberOf(labelOf('day', timezone, today));
  const ahead = Array.from({ length: horizon_days }, (_, index) => firstAhead + index);
  const projectOf = (measure: (sums: DaySums) => string) =>
    project(
      history.map((sums, index) => ({
        number: firstAhead - history.length + index,
        value: sums === undefined ? 0 : Number(measure(sums)),
      })),
      ahead,
    );
  const cost = projectOf(({ usd_nanos }) => usd_nanos);
  const runs = projectOf((sums) => sums.runs);
  const tokens = projectOf((sums) => sums.tokens);
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
      runs: Number(sumOf(booked.map((sums) => sums.runs))),
      tokens: Number(sumOf(booked.map((sums) => sums.tokens))),
      cost_usd: formatUsd(sumOf(booked.map(({ usd_nanos }) => usd_nanos))),
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

/** From the first day with a run up to yesterday. A day between without any is a day of history too. */
function withoutGaps(booked: readonly DaySums[], daysMax: number): (DaySums | undefined)[] {
  const byPlace = new Map(booked.map((sums) => [sums.place, sums]));
  const first = booked[0]?.place ?? daysMax + 1;
  return Array.from({ length: daysMax + 1 - first }, (_, index) => byPlace.get(first + index));
}

function numberOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

function dateOf(number: number): string {
  return new Date(number * dayMs).toISOString().slice(0, 10);
}

function sumOf(integers: readonly string[]): bigint {
  return integers.reduce((sum, text) => sum + BigInt(text), 0n);
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
