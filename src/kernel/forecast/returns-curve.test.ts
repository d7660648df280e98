import { describe, expect, test } from 'vitest';
import { normal, seededRandom } from '../../../test/support/series.ts';
import { fitReturns, priorElasticity, type ReturnsCurve, teamsSearchedMax } from './returns-curve.ts';

const power = (teams: number) => 100 * teams ** 0.6;
const saturating = (teams: number) => 1_000 * (1 - Math.exp(-teams / 8));

function weeksOf(curve: (teams: number) => number, from: number, to: number, seed = 1, scatter = 0.1) {
  const random = seededRandom(seed);
  return Array.from({ length: 20 }, (_, week) => {
    const teams = Math.round(from + ((to - from) * week) / 19);
    return { teams, value: curve(teams) * Math.exp(scatter * normal(random)) };
  });
}

const fitted = (...of: Parameters<typeof weeksOf>) => fitReturns(weeksOf(...of)) as ReturnsCurve;

/** Computes the team count up to which teams pay, by brute force. */
function truth(curve: (teams: number) => number, cost: number): number {
  let teams = 0;
  while (teams < teamsSearchedMax && curve(teams + 1) - curve(teams) >= cost) {
    teams += 1;
  }
  return teams;
}

test.each([
  ['power', power],
  ['saturating', saturating],
] as const)('weeks that lie on a curve give it back: %s', (family, curve) => {
  const fit = fitted(curve, 2, 30, 1, 0);
  expect(fit.family).toBe(family);
  expect(fit.rSquared).toBeGreaterThan(0.99);
  expect(fit.priorWeight).toBeLessThan(0.2);
  for (const teams of [2, 10, 30]) {
    expect(fit.valueAt(teams) / curve(teams)).toBeGreaterThan(0.95);
    expect(fit.valueAt(teams) / curve(teams)).toBeLessThan(1.05);
  }
  expect(Math.abs(fit.paysUpTo(30).expected - truth(curve, 30))).toBeLessThanOrEqual(1);
});

test('the interval contains the true team count in about 80 % of cases, for any curve', () => {
  const rounds = 60;
  for (const curve of [power, saturating]) {
    const wanted = truth(curve, 30);
    let held = 0;
    for (let seed = 1; seed <= rounds; seed += 1) {
      const { low, high } = fitted(curve, 2, 30, seed).paysUpTo(30);
      held += low <= wanted && wanted <= high ? 1 : 0;
    }
    expect(held / rounds).toBeGreaterThan(0.7);
  }
});

describe('the prior', () => {
  test('the prior of the returns curve is unchanged while the team count has never varied', () => {
    const fit = fitted(power, 4, 4);
    expect(fit.priorWeight).toBeCloseTo(1, 5);
    // Close to the mean of the prior, which is truncated at the bounds of its grid.
    expect(Math.abs(fit.elasticity - priorElasticity.mean)).toBeLessThan(0.05);
    expect([fit.rSquared, fit.teamCounts]).toEqual([null, 1]);
    const { low, high } = fit.paysUpTo(30);
    expect(high).toBeGreaterThan(10 * low);
  });
  test('the prior of the returns curve is overridden by weeks with other team counts', () => {
    const weights = [4, 6, 12, 30].map((to) => fitted(power, 4, to).priorWeight);
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
    expect(weights.at(-1)).toBeLessThan(0.2);
  });
  test('the prior of the returns curve is used for a single week', () => {
    const fit = fitReturns([{ teams: 2, value: 100 }]) as ReturnsCurve;
    expect(fit.valueAt(2)).toBeCloseTo(100, 5);
    expect(fit.valueAt(4)).toBeGreaterThan(150);
    expect(fit.valueAt(4)).toBeLessThan(200);
  });
});

describe('the team count that pays', () => {
  test('the team count that pays is zero if a team costs more than the first one is worth, and unbounded if it is free', () => {
    const fit = fitted(power, 2, 30, 1, 0);
    expect(fit.paysUpTo(1_000)).toEqual({ expected: 0, low: 0, high: 0 });
    expect(fit.paysUpTo(0).expected).toBe(teamsSearchedMax);
  });
  test('the team count that pays is unbounded if each team is worth as much as the previous one', () => {
    expect(fitted((teams) => 100 * teams, 2, 30, 1, 0).paysUpTo(50).expected).toBe(teamsSearchedMax);
  });
  test('decreases with the cost of a team', () => {
    const fit = fitted(saturating, 2, 30);
    const counts = [5, 10, 20, 40, 80].map((cost) => fit.paysUpTo(cost).expected);
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    expect(new Set(counts).size).toBe(5);
  });
});

test('a range contains its curve, and is wider where there are no weeks', () => {
  const fit = fitted(power, 4, 8);
  const width = (teams: number) => (fit.rangeAt(teams).high - fit.rangeAt(teams).low) / fit.valueAt(teams);
  for (const teams of [1, 6, 50]) {
    expect(fit.rangeAt(teams).low).toBeLessThanOrEqual(fit.valueAt(teams));
    expect(fit.rangeAt(teams).high).toBeGreaterThanOrEqual(fit.valueAt(teams));
  }
  expect(width(50)).toBeGreaterThan(2 * width(6));
});

test('weeks without value or teams are ignored', () => {
  expect(fitReturns([])).toBeUndefined();
  expect(
    fitReturns([
      { teams: 3, value: 0 },
      { teams: 0, value: 5 },
    ]),
  ).toBeUndefined();
});
