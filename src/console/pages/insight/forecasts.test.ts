import { expect, test } from 'vitest';
import { html, render } from '../../html.ts';
import { runsOut, teamChart } from './forecasts.ts';

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

test('a daily limit runs out on a date, like the others, and only if it is today', () => {
  const daily = {
    limit_id: 'cap_1',
    kind: 'spend_cap' as const,
    match: {},
    unit: 'usd' as const,
    limit: '50',
    used: '20',
    window_start: '2026-11-17T00:00:00.000Z',
    window_end: '2026-11-18T00:00:00.000Z',
    expires_at: null,
    runs_out_on: '2026-11-17',
    earliest_on: '2026-11-17',
    latest_on: null,
    runs_out_in_window: true,
    expected_at_window_end: '60',
    isForecast: true,
  };
  expect(render(html`${runsOut(daily)}`)).toBe('<span class="badge bad">17 Nov</span>');
  const later = { ...daily, runs_out_on: '2026-11-20', runs_out_in_window: false };
  expect(render(html`${runsOut(later)}`)).toContain('Not today');
});
