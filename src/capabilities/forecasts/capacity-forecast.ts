/** What the days to come will cost and how much will run, by what the days gone by were like. */
import { refuse } from '../../contract/refusal.ts';
import { coverage } from '../../kernel/forecast/bands.ts';
import { type Estimate, forecast, qualityFor } from '../../kernel/forecast/forecast.ts';
import { formatUsd } from '../../kernel/money.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { findTimezone } from '../usage/index.ts';
import { dateOf, todayIn } from './calendar.ts';
import { readHistory } from './history.ts';
import { estimatedUsd, hundredths, type Measure, measures } from './measures.ts';
import { type CapacityForecastQuery, type CapacityForecastView, horizonDays } from './schema.ts';
import { othersFirst } from './turns.ts';

const historyDaysMax = 180;

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
  const today = todayIn(timezone, now.getTime());
  const scope = deployment === undefined ? {} : { deployment };
  const { days: history } = await readHistory(db, { orgId, scope, today, now, daysMax: historyDaysMax });
  const project = async ({ of }: Measure) => {
    await othersFirst();
    return forecast(
      history.map((day) => Number(of(day))),
      horizon_days,
    );
  };
  const [cost, runs, tokens] = [
    await project(measures.spend),
    await project(measures.runs),
    await project(measures.tokens),
  ];
  const sumOf = ({ of }: Measure) => history.reduce((sum, day) => sum + of(day), 0n);
  const days = history.length;
  const totals = [cost, runs, tokens].map(({ sums }) => sums[horizon_days - 1] as Estimate);
  const [totalCost, totalRuns, totalTokens] = totals as [Estimate, Estimate, Estimate];
  return {
    deployment: deployment ?? null,
    horizon_days,
    timezone,
    method: cost.method,
    quality: qualityFor(days, horizon_days),
    coverage,
    history: {
      from: days === 0 ? null : dateOf(today.number - days),
      to: days === 0 ? null : dateOf(today.number - 1),
      days,
      runs: Number(sumOf(measures.runs)),
      tokens: Number(sumOf(measures.tokens)),
      cost_usd: formatUsd(sumOf(measures.spend)),
    },
    total: {
      cost_usd: estimatedUsd(totalCost.expected),
      runs: hundredths(totalRuns.expected),
      tokens: hundredths(totalTokens.expected),
    },
    total_band: {
      cost_usd: shown(totalCost, estimatedUsd),
      runs: shown(totalRuns, hundredths),
      tokens: shown(totalTokens, hundredths),
    },
    days: cost.days.map((day, index) => ({
      date: dateOf(today.number + index),
      cost_usd: shown(day, estimatedUsd),
      runs: shown(runs.days[index] as Estimate, hundredths),
      tokens: shown(tokens.days[index] as Estimate, hundredths),
    })),
  };
}

function shown<Value>({ expected, low, high }: Estimate, view: (value: number) => Value) {
  return {
    expected: view(expected),
    low: low === null ? null : view(low),
    high: high === null ? null : view(high),
  };
}
