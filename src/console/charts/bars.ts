/** Stacked bar chart. */
import { html, type Markup } from '../html.ts';
import { chart } from './frame.ts';
import { plane, slotAt } from './plane.ts';
import { round } from './scale.ts';

export interface BarPart {
  readonly name: string;
  readonly className: string;
  /** One value per label. */
  readonly values: readonly number[];
}

export interface BarChart {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly labels: readonly string[];
  readonly parts: readonly BarPart[];
  /** Target of each bar. */
  readonly links?: readonly string[];
  formatTick(value: number): string;
  format(value: number): string;
}

const gapShare = 0.28;

export function barChart(input: BarChart): Markup {
  const { id, title, summary, labels, parts, links, formatTick, format } = input;
  const slot = slotAt('half', labels.length);
  const sums = labels.map((_, index) => parts.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const area = plane('half', Math.max(0, ...sums), labels, slot.middle, formatTick);
  const barWidth = round(slot.width * (1 - gapShare));
  const bars = labels.map((label, index) => {
    let below = 0;
    const bar = parts.map(({ name, className, values }) => {
      const value = values[index] ?? 0;
      const y = area.y(below + value);
      const height = round(area.y(below) - y);
      below += value;
      return (
        height > 0 &&
        html`<rect class="${className}" x="${round(slot.middle(index) - barWidth / 2)}" y="${y}" width="${barWidth}" height="${height}"><title>${label}, ${name}: ${format(value)}</title></rect>`
      );
    });
    // Not in the order of the keyboard: the table has the same links.
    return links?.[index] === undefined
      ? bar
      : html`<a class="bar" href="${links[index]}" tabindex="-1" aria-label="${label}: ${format(sums[index] ?? 0)}">${bar}</a>`;
  });
  return chart({
    id,
    title,
    summary,
    width: area.width,
    height: area.height,
    endsNow: true,
    ...(links !== undefined && { links }),
    drawing: [area.axes, bars],
    legend: parts.length > 1 ? parts : [],
    columns: ['', ...parts.map(({ name }) => name)],
    rows: labels.map((label, index) => [label, ...parts.map(({ values }) => format(values[index] ?? 0))]),
  });
}
