/**
 * Forecast of cost and volume for the coming days, with or without a scenario, and of the number of teams that pay off.
 */
import { coverage } from '../../../kernel/forecast/bands.ts';
import { type Estimate, type Forecast, forecast, qualityFor } from '../../../kernel/forecast/forecast.ts';
import { mean } from '../../../kernel/forecast/series.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Prices } from '../../spend/models/index.ts';
import { findTimezone } from '../usage/index.ts';
import { dateOf, type Today, todayIn } from './calendar.ts';
import { type DayOfUse, readHistory, type ScopeFilter } from './history.ts';
import { estimatedUsd, type ForecastMeasure, hundredths, measures } from './measures.ts';
import { readMix } from './model-mix.ts';
import type { ScenarioRow } from './queries.ts';
import { type Effects, effectsOf, withEffects } from './scenario-effects.ts';
import { requireScenarioNamed } from './scenarios.ts';
import { type CapacityForecastQuery, type CapacityForecastView, horizonDays } from './schema.ts';
import { readTeamReturns, type TeamReturns, viewTeamReturns } from './team-returns.ts';

export interface CapacityDependencies {
  readonly db: Database;
  readonly prices: Pick<Prices, 'find'>;
}

const historyDaysMax = 180;
const daysOfWeek = 7;

type Ahead = Pick<Forecast, 'days' | 'sums'>;
interface AllAhead {
  readonly cost: Ahead;
  readonly runs: Ahead;
  readonly tokens: Ahead;
}

export async function forecastCapacity(
  deps: CapacityDependencies,
  orgId: string,
  { deployment, horizon_days = horizonDays.fallback, scenario: wanted }: CapacityForecastQuery,
  now: Date,
): Promise<CapacityForecastView> {
  const { db } = deps;
  const scenario = wanted === undefined ? undefined : await requireScenarioNamed(db, orgId, wanted);
  const timezone = await findTimezone(db, orgId);
  const today = todayIn(timezone, now.getTime());
  const scope = deployment === undefined ? {} : { deployment };
  const { days: history } = await readHistory(db, { orgId, scope, today, now, daysMax: historyDaysMax });
  const yielder = createYielder();
  const project = async ({ of }: ForecastMeasure) => {
    await yielder.yieldIfDue();
    return forecast(
      history.map((day) => Number(of(day))),
      horizon_days,
    );
  };
  const cost = await project(measures.spend);
  const baseline = { cost, runs: await project(measures.runs), tokens: await project(measures.tokens) };
  const returns = await readTeamReturns(db, orgId, scope, today, now);
  const changed =
    scenario === undefined
      ? undefined
      : await inScenario(deps, { orgId, scope, today, now, horizon_days, returns }, scenario, baseline);
  await yielder.yieldIfDue();
  return {
    deployment: deployment ?? null,
    horizon_days,
    timezone,
    method: cost.method,
    quality: qualityFor(history.length, horizon_days),
    coverage,
    history: viewHistory(history, today),
    ...viewAhead(changed?.ahead ?? baseline, today),
    teams: viewTeamReturns(returns, {
      weeks: horizon_days / daysOfWeek,
      value: changed === undefined ? 1 : mean(changed.effects.volumePerTeam),
      cost:
        changed === undefined
          ? 1
          : mean(
              changed.effects.volumePerTeam.map((volume, day) => volume * (changed.effects.price[day] ?? 1)),
            ),
      planned: scenario?.changes.teams,
    }),
    scenario: scenario === undefined ? null : viewScenarioUsed(scenario, changed?.unpriced ?? []),
    baseline: changed === undefined ? null : viewAhead(baseline, today),
  };
}

interface ForecastRequest {
  readonly orgId: string;
  readonly scope: ScopeFilter;
  readonly today: Today;
  readonly now: Date;
  readonly horizon_days: number;
  readonly returns: TeamReturns;
}

async function inScenario(
  deps: CapacityDependencies,
  { orgId, scope, today, now, horizon_days, returns }: ForecastRequest,
  { changes }: ScenarioRow,
  { cost, runs, tokens }: AllAhead,
): Promise<{ readonly ahead: AllAhead; readonly effects: Effects; readonly unpriced: readonly string[] }> {
  const mix = await readMix(deps, orgId, scope, today, now, changes.model_mix ?? []);
  const effects = effectsOf(changes, {
    firstDay: today.number,
    days: horizon_days,
    teamsObserved: returns.observed,
    mixed: mix.uses,
    costBeforeMix: mix.costBefore,
    countsDeployment: (name) => scope.deployment === undefined || scope.deployment === name,
  });
  const { volume, price } = effects;
  const ahead = {
    cost: withEffects(
      cost,
      volume.map((factor, day) => factor * (price[day] ?? 1)),
      effects.addedCostNanos,
    ),
    runs: withEffects(runs, volume, effects.addedRuns),
    tokens: withEffects(tokens, volume, effects.addedTokens),
  };
  return { ahead, effects, unpriced: mix.unpriced };
}

function viewHistory(history: readonly DayOfUse[], today: Today): CapacityForecastView['history'] {
  const sumOf = ({ of }: ForecastMeasure) => history.reduce((sum, day) => sum + of(day), 0n);
  const days = history.length;
  return {
    from: days === 0 ? null : dateOf(today.number - days),
    to: days === 0 ? null : dateOf(today.number - 1),
    days,
    runs: Number(sumOf(measures.runs)),
    tokens: Number(sumOf(measures.tokens)),
    cost_usd: formatUsd(sumOf(measures.spend)),
  };
}

function viewAhead({ cost, runs, tokens }: AllAhead, today: Today) {
  const totals = [cost, runs, tokens].map(({ sums }) => sums.at(-1) as Estimate);
  const [totalCost, totalRuns, totalTokens] = totals as [Estimate, Estimate, Estimate];
  return {
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

function viewScenarioUsed({ id, name, changes }: ScenarioRow, unpriced: readonly string[]) {
  return { id, name, changes, unpriced_models: [...unpriced] };
}

function shown<Value>({ expected, low, high }: Estimate, view: (value: number) => Value) {
  return {
    expected: view(expected),
    low: low === null ? null : view(low),
    high: high === null ? null : view(high),
  };
}
