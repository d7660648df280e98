/** A small bar chart for a table cell. */
import { html, type Markup } from '../html.ts';
import { round } from './scale.ts';

const width = 120;
const height = 26;

/** `label` describes the chart in words. */
export function sparkline(values: readonly number[], label: string): Markup {
  const largest = Math.max(...values, 0);
  const slot = width / Math.max(1, values.length);
  const barWidth = round(Math.max(0.6, slot * 0.75));
  const bars = values.map((value, index) => {
    const barHeight = largest === 0 ? 0 : round(Math.max(value > 0 ? 1 : 0, (value / largest) * height));
    const x = round(index * slot);
    const y = round(height - barHeight);
    return (
      barHeight > 0 &&
      html`<rect class="series-1" x="${x}" y="${y}" width="${barWidth}" height="${barHeight}"/>`
    );
  });
  return html`<svg class="sparkline" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${bars}</svg>`;
}
