import { describe, expect, test } from 'vitest';
import { render } from '../html.ts';
import { barChart } from './bars.ts';
import { lineChart } from './line.ts';
import { meter } from './meter.ts';
import { ticksUpTo } from './scale.ts';
import { scatterChart } from './scatter.ts';

const format = (value: number) => `$${value}`;
const common = { id: 'c', title: 'Spend', summary: 'It rises.', format, formatTick: format };

describe('an axis', () => {
  test.each([
    [0, 1],
    [Number.NaN, 1],
    [7, 8],
    [100, 100],
    [0.3, 0.3],
    [1_234_567, 1_500_000],
  ])('an axis for values up to %s ends at the round number %s', (largest, max) => {
    expect(ticksUpTo(largest).max).toBeCloseTo(max, 9);
  });
});

describe('a chart', () => {
  test('a chart has a summary and a table of its values', () => {
    const text = render(
      lineChart({
        ...common,
        labels: ['Mon', 'Tue'],
        lines: [{ name: 'Real', className: 'series-1', values: [1, null] }],
        band: { name: 'Likely', low: [null, 1], high: [null, 3] },
        marks: [{ name: 'Cap', value: 5 }],
      }),
    );
    expect(text).toContain('<desc id="c-desc">It rises.</desc>');
    expect(text).toContain('<th scope="row">Tue</th><td class="number">–</td><td class="number">$1</td>');
    expect(text).toContain('Cap');
  });

  test('escapes names', () => {
    const text = render(
      scatterChart({
        ...common,
        x: { name: 'Cost', format },
        y: { name: 'Score', format },
        points: [{ name: '"><script>', x: 1, y: 2, passes: true }],
      }),
    );
    expect(text).not.toContain('<script>');
  });

  test('a chart has only numeric coordinates, also without data', () => {
    for (const labels of [[], ['a']]) {
      const values = labels.map(() => 0);
      const texts = [
        barChart({ ...common, labels, parts: [{ name: 'x', className: 'series-1', values }] }),
        lineChart({ ...common, labels, lines: [{ name: 'x', className: 'series-1', values }] }),
        scatterChart({ ...common, x: { name: 'a', format }, y: { name: 'b', format }, points: [] }),
      ].map(render);
      expect(texts.join('')).not.toMatch(/NaN|Infinity|undefined/);
    }
  });

  test('stacks bars with heights proportional to their values', () => {
    const text = render(
      barChart({
        ...common,
        labels: ['a'],
        parts: [
          { name: 'x', className: 'one', values: [60] },
          { name: 'y', className: 'two', values: [40] },
        ],
      }),
    );
    const [, yOne, heightOne] = /class="one"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"/.exec(text) ?? [];
    const [, yTwo, heightTwo] = /class="two"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"/.exec(text) ?? [];
    expect(Number(heightOne) / Number(heightTwo)).toBeCloseTo(1.5, 1);
    expect(Number(yTwo) + Number(heightTwo)).toBeCloseTo(Number(yOne), 1);
  });
});

describe('a meter', () => {
  const of = (settled: number, held: number, limit: number) =>
    render(meter({ label: 'Budget', settled, held, limit, format }));

  test.each([
    [10, 5, 100, 'fine'],
    [70, 10, 100, 'near'],
    [90, 10, 100, 'full'],
    [150, 0, 100, 'full'],
    [0, 0, 0, 'full'],
  ])('%s settled and %s held of %s is %s', (settled, held, limit, state) => {
    expect(of(settled, held, limit)).toContain(`class="meter ${state}"`);
  });

  test('a meter has a text for screen readers', () => {
    expect(of(10, 5, 100)).toContain('Budget: $10 spent, $5 reserved, $85 of $100 remaining');
    expect(of(150, 50, 100)).toContain('Budget: $150 spent, $50 reserved, $100 over the limit of $100');
  });

  test('a meter stays within its bounds if the limit is exceeded', () => {
    expect(of(150, 50, 100)).toContain('class="meter-settled" width="150"');
  });
});
