import { describe, expect, test } from 'vitest';
import { numberOf } from './calendar.ts';
import { effectsOf, type Situation, withEffects } from './scenario-effects.ts';
import type { ScenarioChanges } from './scenario-schema.ts';

/** A Monday. */
const firstDay = numberOf('2026-11-16');
const situation: Situation = {
  firstDay,
  days: 62,
  teamsObserved: 4,
  mixed: [
    { model: 'a', costNanos: 30 },
    { model: 'b', costNanos: 70 },
  ],
  costBeforeMix: 100,
  countsDeployment: () => true,
};
const effects = (changes: ScenarioChanges, more: Partial<Situation> = {}) =>
  effectsOf(changes, { ...situation, ...more });

test('an empty scenario changes nothing', () => {
  const { volume, price, addedCostNanos } = effects({});
  expect([new Set(volume), new Set(price), new Set(addedCostNanos)]).toEqual([
    new Set([1]),
    new Set([1]),
    new Set([0]),
  ]);
});

test('growth compounds monthly', () => {
  const { volume } = effects({ growth_percent_per_month: 21 });
  expect(volume[0]).toBe(1);
  expect(volume[61]).toBeCloseTo(1.21 ** (61 / 30.4375), 9);
  expect(effects({ growth_percent_per_month: -100 }).volume.slice(0, 2)).toEqual([1, 0]);
});

test('teams scale the volume in proportion to the observed count, but not the value per team', () => {
  expect(effects({ teams: 6 }).volume[0]).toBe(1.5);
  expect(effects({ teams: 6 }).volumePerTeam[0]).toBe(1);
  expect(effects({ teams: 6 }, { teamsObserved: 0 }).volume[0]).toBe(6);
});

describe('prices', () => {
  test('price changes of one model are weighted by its part of the cost, from their day on', () => {
    const { price } = effects({ price_changes: [{ model: 'a', percent: 50, from: '2026-11-18' }] });
    expect(price.slice(0, 4)).toEqual([1, 1, 1.15, 1.15]);
  });
  test('price changes of all models apply, and multiply', () => {
    const { price } = effects({ price_changes: [{ percent: -10 }, { model: 'b', percent: -100 }] });
    expect(price[0]).toBeCloseTo(0.27, 9);
  });
  test('follow a cheaper mix', () => {
    expect(effects({}, { mixed: [{ model: 'a', costNanos: 80 }] }).price[0]).toBe(0.8);
  });
  test('price changes without any cost include only changes for all models', () => {
    const { price } = effects(
      { price_changes: [{ percent: 20 }, { model: 'a', percent: 500 }] },
      { mixed: [], costBeforeMix: 0 },
    );
    expect(price[0]).toBeCloseTo(1.2, 9);
  });
});

test('multiplies seasons: weekdays from Monday on, and periods including both days', () => {
  const { volume } = effects({
    seasonality: {
      weekday_percents: [100, 100, 100, 100, 50, 0, 0],
      periods: [
        { from: '2026-11-16', to: '2026-11-17', percent: 200 },
        { from: '2026-11-17', to: '2026-11-20', percent: 150 },
      ],
    },
  });
  expect(volume.slice(0, 8)).toEqual([2, 3, 1.5, 1.5, 0.75, 0, 0, 1]);
});

test('a new deployment starts on its day and reaches full volume after its ramp', () => {
  const added = { name: 'd', daily_cost_usd: '4', daily_runs: 8, starts_on: '2026-11-18', ramp_days: 3 };
  const { addedCostNanos, addedRuns, addedTokens } = effects({ new_deployment: added });
  expect(addedCostNanos.slice(0, 7)).toEqual([0, 0, 1e9, 2e9, 3e9, 4e9, 4e9]);
  expect([addedRuns[5], addedTokens[5]]).toEqual([8, 0]);
  const elsewhere = effects({ new_deployment: added }, { countsDeployment: (name) => name !== 'd' });
  expect(new Set(elsewhere.addedCostNanos)).toEqual(new Set([0]));
  // A deployment that started before today has been growing since then.
  const begun = effects({ new_deployment: { ...added, starts_on: '2026-11-15' } });
  expect(begun.addedCostNanos.slice(0, 3)).toEqual([2e9, 3e9, 4e9]);
});

test('scales bands in proportion, and shifts them by added volume', () => {
  const day = { expected: 10, low: 8, high: 14 };
  const sums = [day, { expected: 20, low: 17, high: 26 }];
  const changed = withEffects({ days: [day, day], sums }, [2, 1], [0, 5]);
  expect(changed.days).toEqual([
    { expected: 20, low: 16, high: 28 },
    { expected: 15, low: 13, high: 19 },
  ]);
  expect(changed.sums[1]).toEqual({ expected: 35, low: 30.5, high: 44 });
});
