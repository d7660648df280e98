/**
 * Effect of a scenario on a forecast: factors of volume and price by day, and the volume of a new deployment. Pure
 * functions.
 */
import type { Estimate, Forecast } from '../../../kernel/forecast/forecast.ts';
import { parseUsd } from '../../../kernel/money.ts';
import { numberOf } from './calendar.ts';
import type { ScenarioChanges } from './scenario-schema.ts';

/** Usage of a model in the period that the mix is based on. */
export interface ModelCost {
  readonly model: string;
  readonly costNanos: number;
}

export interface Situation {
  /** First forecast day, as the number of days since 1970, and the number of forecast days. */
  readonly firstDay: number;
  readonly days: number;
  readonly teamsObserved: number;
  /** Usage after the moves of the mix. Its cost relative to the cost before is the effect of the mix. */
  readonly mixed: readonly ModelCost[];
  readonly costBeforeMix: number;
  /** Returns whether the new deployment is part of the forecast. */
  readonly countsDeployment: (name: string) => boolean;
}

/** Effects of a scenario. Every list has one value per forecast day. */
export interface Effects {
  readonly volume: readonly number[];
  /** The volume factor without the number of teams: the effect on the value of each team. */
  readonly volumePerTeam: readonly number[];
  readonly price: readonly number[];
  readonly addedCostNanos: readonly number[];
  readonly addedRuns: readonly number[];
  readonly addedTokens: readonly number[];
}

const daysPerMonth = 365.25 / 12;

export function effectsOf(changes: ScenarioChanges, situation: Situation): Effects {
  const { firstDay, days, teamsObserved } = situation;
  const each = (of: (day: number, index: number) => number) =>
    Array.from({ length: days }, (_, index) => of(firstDay + index, index));
  const growth = 1 + (changes.growth_percent_per_month ?? 0) / 100;
  const volumePerTeam = each(
    (day, index) => growth ** (index / daysPerMonth) * seasonAt(changes.seasonality, day),
  );
  const teams = changes.teams === undefined ? 1 : changes.teams / Math.max(1, teamsObserved);
  const ramp = each((day) => rampAt(changes.new_deployment, situation, day));
  const added = changes.new_deployment;
  const addedCost = Number(parseUsd(added?.daily_cost_usd ?? '0') ?? 0n);
  return {
    volume: volumePerTeam.map((factor) => factor * teams),
    volumePerTeam,
    price: each((day) => priceAt(changes.price_changes ?? [], situation, day)),
    addedCostNanos: ramp.map((part) => part * addedCost),
    addedRuns: ramp.map((part) => part * (added?.daily_runs ?? 0)),
    addedTokens: ramp.map((part) => part * (added?.daily_tokens ?? 0)),
  };
}

/** Returns the day of the week, 0 for Monday. Day 0, 1970-01-01, was a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

function seasonAt(seasonality: ScenarioChanges['seasonality'], day: number): number {
  const weekday = (seasonality?.weekday_percents?.[weekdayOf(day)] ?? 100) / 100;
  return (seasonality?.periods ?? [])
    .filter(({ from, to }) => numberOf(from) <= day && day <= numberOf(to))
    .reduce((factor, { percent }) => (factor * percent) / 100, weekday);
}

/** Ramps up in equal steps from zero on the day before the start to the full volume. */
function rampAt(added: ScenarioChanges['new_deployment'], situation: Situation, day: number): number {
  if (added === undefined || !situation.countsDeployment(added.name)) {
    return 0;
  }
  const running = day - (added.starts_on === undefined ? situation.firstDay : numberOf(added.starts_on)) + 1;
  return running <= 0 ? 0 : Math.min(1, running / ((added.ramp_days ?? 0) + 1));
}

/** Price factor, weighted by each model's part of the cost. Without any cost, only changes for all models apply. */
function priceAt(
  priceChanges: NonNullable<ScenarioChanges['price_changes']>,
  { mixed, costBeforeMix }: Situation,
  day: number,
): number {
  const inForce = priceChanges.filter(({ from }) => from === undefined || numberOf(from) <= day);
  const factorOf = (model: string | undefined) =>
    inForce
      .filter((one) => one.model === undefined || one.model === model)
      .reduce((factor, { percent }) => factor * (1 + percent / 100), 1);
  if (costBeforeMix <= 0) {
    return factorOf(undefined);
  }
  return mixed.reduce((sum, { model, costNanos }) => sum + costNanos * factorOf(model), 0) / costBeforeMix;
}

/** Multiplies each day of the forecast and adds to it; the band of a sum scales in proportion. */
export function withEffects(
  { days, sums }: Pick<Forecast, 'days' | 'sums'>,
  factors: readonly number[],
  added: readonly number[],
): Pick<Forecast, 'days' | 'sums'> {
  const changed = days.map((day, index) => scaled(day, factors[index] ?? 1, added[index] ?? 0));
  let [total, before] = [0, 0];
  let addedUp = 0;
  return {
    days: changed,
    sums: sums.map((sum, index) => {
      addedUp += added[index] ?? 0;
      total += (days[index]?.expected ?? 0) * (factors[index] ?? 1);
      before += days[index]?.expected ?? 0;
      return scaled(sum, before === 0 ? (factors[index] ?? 1) : total / before, addedUp);
    }),
  };
}

function scaled({ expected, low, high }: Estimate, factor: number, added: number): Estimate {
  return {
    expected: expected * factor + added,
    low: low === null ? null : low * factor + added,
    high: high === null ? null : high * factor + added,
  };
}
