import { describe, expect, test } from 'vitest';
import { render } from '../../html.ts';
import { type CostRow, costsByModel, monthChart, spendPerDay } from './overview-charts.ts';

const models = Array.from({ length: 30 }, (_, index) => `model-${index}`);
const days = Array.from({ length: 30 }, (_, index) => `2026-11-${String(index + 1).padStart(2, '0')}`);
/** Models with higher numbers cost less. */
const costOf = (model: string) => 0.1 * (models.length - models.indexOf(model));
const row = (fields: Pick<CostRow, 'day' | 'model'>, cost: number): CostRow => ({
  ...fields,
  cost_usd: String(cost),
});
const everyModel = models.reduce((sum, model) => sum + costOf(model), 0);
const byDay = days.map((day) => row({ day }, everyModel));

/** Usage per day like that of the API: the five most expensive models, and the others together. */
function perDay(known: readonly string[]): Parameters<typeof costsByModel>[0] {
  const seriesOf = (kind: 'value' | 'other', of: readonly string[]) => ({
    kind,
    value: kind === 'value' ? (of[0] ?? null) : null,
    points: days.map(() => ({
      runs: 1,
      failed_runs: 0,
      input_tokens: 1,
      output_tokens: 1,
      cost_usd: String(of.reduce((sum, model) => sum + costOf(model), 0)),
      value_usd: '0',
      cache_savings_usd: '0',
    })),
  });
  const others = known.slice(5);
  return {
    points: days,
    series: [
      ...known.slice(0, 5).map((model) => seriesOf('value', [model])),
      ...(others.length > 0 ? [seriesOf('other', others)] : []),
    ],
  };
}

/** The parts of the first day in the data table. */
function partsOf(rows: readonly CostRow[]): string[] {
  // The cells are links to the usage of their day.
  const text = render(spendPerDay(byDay, rows)).replaceAll(/<\/?a[^>]*>/g, '');
  const heads = [...text.matchAll(/<th scope="col"[^>]*>([^<]*)<\/th>/g)].map(([, head]) => head);
  const cells = /<th scope="row">1 Nov<\/th>(.*?)<\/tr>/s.exec(text)?.[1] ?? '';
  const values = [...cells.matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, value]) => value);
  return heads.slice(1).map((head, index) => `${head} ${values[index]}`);
}

test('the most expensive models are shown for every day, and the others summed up', () => {
  expect(partsOf(costsByModel(perDay(models)))).toEqual([
    'model-0 $3.00',
    'model-1 $2.90',
    'model-2 $2.80',
    'model-3 $2.70',
    'model-4 $2.60',
    'Others $32.50',
  ]);
});

test('with few models all are shown, without a rest from floating-point errors', () => {
  const known = models.slice(0, 3);
  const rows = costsByModel(perDay(known));
  const sums = days.map((day) =>
    row(
      { day },
      known.reduce((sum, model) => sum + costOf(model), 0),
    ),
  );
  expect(render(spendPerDay(sums, rows))).not.toContain('Others');
});

test('without models the daily totals are shown', () => {
  expect(partsOf([])).toEqual(['Cost $46.50']);
});

test('a bar leads to the usage of its day, with the filters of the page, and a segment to that of its model', () => {
  const text = render(
    spendPerDay(byDay, [row({ day: '2026-11-06', model: 'a&b' }, 1)], { customer_id: 'acme' }),
  );
  const day = 'customer_id=acme&amp;range=custom&amp;from=2026-11-06&amp;to=2026-11-06';
  expect(text).toContain(`href="/console/usage?${day}"`);
  expect(text).toContain(
    `href="/console/usage?${day.replace('acme&amp;', 'acme&amp;model=a%26b&amp;group_by=workflow&amp;')}"`,
  );
});

describe('the summary of the month', () => {
  const month = { start: '2026-11-01', today: '2026-11-10' };
  const forecast = {
    quality: 'fair' as const,
    forecast: Array.from({ length: 21 }, (_, index) => ({
      date: `2026-11-${index + 10}`,
      expected: '10',
      low: null,
      high: null,
    })),
  };
  const summaryOf = (budget: number, spent: number) =>
    /<desc[^>]*>(.*?)<\/desc>/.exec(
      render(monthChart({ days: [row({ day: '2026-11-05' }, spent)], forecast, budget, month })),
    )?.[1];

  test('the summary of the month has neither a forecast nor its line without history', () => {
    const without = { ...forecast, quality: 'none' as const };
    const text = render(
      monthChart({ days: [row({ day: '2026-11-10' }, 4)], forecast: without, budget: 100, month }),
    );
    expect(text).toMatch(/<desc[^>]*>\$96\.00 of \$100\.00 remaining\.<\/desc>/);
    expect(text).not.toMatch(/Forecast|11 Nov/);
  });

  test('states the expected overspend in money, and the day on which the budget runs out', () => {
    expect(summaryOf(100, 40)).toBe(
      '$60.00 of $100.00 remaining. Expected to exceed the budget by $150.00 at the end of the month; runs out around 16 Nov.',
    );
  });

  test('states the expected remaining budget, and an overspend that has already happened', () => {
    expect(summaryOf(400, 40)).toBe(
      '$360.00 of $400.00 remaining. $150.00 expected to remain at the end of the month.',
    );
    expect(summaryOf(30, 40)).toBe(
      '$10.00 over the budget of $30.00. Expected to exceed the budget by $220.00 at the end of the month.',
    );
  });
});
