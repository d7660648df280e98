import { expect, test } from 'vitest';
import { html, render } from '../../html.ts';
import { teamChart } from './forecasts.ts';

const points = [1, 9, 18, 27, 100, 4_876].map((teams) => ({
  teams,
  value_usd: '10',
  cost_usd: '1',
  return_usd: '9',
  return_low_usd: '8',
  return_high_usd: '10',
}));
const curve = {
  family: 'power',
  elasticity: 0.5,
  weeks: 8,
  team_counts: 4,
  r_squared: 0.9,
  prior_weight: 0.1,
} as const;
const shown = (quality: 'low' | 'fair' | 'good', expected: number) =>
  render(
    html`${teamChart({
      teams: {
        observed: 9,
        cost_per_team_usd: '1',
        curve: { ...curve, quality },
        pays_up_to: { expected, low: 12, high: null },
        points,
      },
    })}`,
  );

test('a curve of low quality is neither drawn nor used for a number of teams', () => {
  const text = shown('low', 3_391);
  expect(text).toContain('Not enough data');
  expect(text).not.toMatch(/<svg|3,?391/);
});

test('a curve is limited to three times the observed teams', () => {
  const text = shown('good', 3_391);
  const labels = [...text.matchAll(/<th scope="row">(\d+)<\/th>/g)].map(([, label]) => label);
  expect(labels).toEqual(['1', '9', '18', '27']);
  expect(text).toContain('pay off up to more than 27 teams (80% range: 12 to more than 27); 9 observed.');
  expect(shown('fair', 14)).toContain('pay off up to 14 teams');
});
