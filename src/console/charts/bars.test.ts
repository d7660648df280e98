import { expect, test } from 'vitest';
import { render } from '../html.ts';
import { barChart } from './bars.ts';
import { lineChart } from './line.ts';
import { ticksBetween } from './scale.ts';
import { sparkline } from './sparkline.ts';

const format = (value: number) => `$${value}`;
const common = { id: 'c', title: 'Spend', summary: 'It rises.', format, formatTick: format };
const daysOf = (length: number) => Array.from({ length }, (_, index) => `${index + 1}`);
const linkedBars = (length: number) =>
  render(
    barChart({
      ...common,
      labels: daysOf(length),
      barHref: (index) => `/day/${index}`,
      parts: [
        {
          name: 'a',
          className: 'series-1',
          values: daysOf(length).map(() => 2),
          href: '/a',
          segmentHref: (index) => `/day/${index}/a`,
        },
        { name: 'Other', className: 'series-6', values: daysOf(length).map(() => 1) },
      ],
    }),
  );
const hrefsIn = (text: string) => [...text.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);

test('a bar leads to its day, a segment to its part, and a part without a link to the day', () => {
  const text = linkedBars(1);
  // The legend, the drawing, then the table.
  expect(hrefsIn(text)).toEqual(['/a', '/day/0', '/day/0/a', '/day/0', '/day/0', '/day/0/a']);
  expect(text).toContain('role="group" aria-labelledby="c-title c-desc"');
  const drawing = text.slice(text.indexOf('</desc>'), text.indexOf('</svg></div>'));
  expect(drawing.match(/<a /g)).toHaveLength(drawing.match(/<a [^>]*tabindex="-1"/g)?.length ?? 0);
});

test('many bars have one link each, so that the page stays small', () => {
  const text = linkedBars(36);
  expect(text).not.toContain('/day/0/a');
  expect(hrefsIn(text).filter((href) => href === '/day/35')).toHaveLength(2);
  expect(linkedBars(92).length).toBeLessThan(100_000);
});

test('a chart without links is an image', () => {
  const text = render(
    barChart({ ...common, labels: ['a'], parts: [{ name: 'x', className: 'series-1', values: [1] }] }),
  );
  expect(text).toContain('role="img"');
  expect(text).not.toContain('<a ');
});

test.each([
  [-3, 5, -4, 6],
  [-10, 0, -10, 0],
  [-0.2, 1, -0.25, 1],
  [0, 8, 0, 8],
])('an axis for values from %s to %s has round ends and a zero', (lowest, largest, min, max) => {
  const ticks = ticksBetween(lowest, largest);
  expect([ticks.min, ticks.max]).toEqual([min, max]);
  expect(ticks.values).toContain(0);
});

test('a line is drawn below zero if it may be, and a value without neighbors is a dot', () => {
  const draw = (showsNegative?: true) =>
    render(
      lineChart({
        ...common,
        ...(showsNegative && { showsNegative }),
        labels: ['a', 'b', 'c'],
        lines: [{ name: 'x', className: 'series-1', values: [-4, null, 4] }],
        pointHref: (index) => `/at/${index}`,
      }),
    );
  expect(draw(true)).toContain('$-4');
  expect(draw()).not.toMatch(/class="tick end"[^>]*>\$-/);
  expect(draw(true)).toMatch(/d="M[\d. ]+h0M[\d. ]+h0"/);
  expect(hrefsIn(draw())).toContain('/at/2');
});

test('a sparkline shows every day with a value, and has a label', () => {
  const text = render(sparkline([0, 0.001, 5], 'Spend "per" day'));
  expect(text.match(/<rect /g)).toHaveLength(2);
  expect(text).toContain('aria-label="Spend &quot;per&quot; day"');
  expect(render(sparkline([], 'none'))).not.toMatch(/NaN|Infinity/);
});
