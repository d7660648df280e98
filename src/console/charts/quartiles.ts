/** Quartile chart: the middle half as a bar, the median as a line, the own value as a dot. */
import { html, type Markup } from '../html.ts';
import { round } from './scale.ts';

export interface QuartileBar {
  /** The measure, for screen readers. */
  readonly label: string;
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
  /** The own value; null if there is none. */
  readonly own: number | null;
  format(value: number): string;
}

const width = 320;
const height = 34;
const margin = 10;

export function quartileBar({ label, q1, median, q3, own, format }: QuartileBar): Markup {
  const largest = Math.max(q3, own ?? 0) * 1.15 || 1;
  const x = (value: number) => round(margin + (value / largest) * (width - 2 * margin));
  const text = `${label}: middle half from ${format(q1)} to ${format(q3)}, median ${format(median)}${own === null ? '' : `, you ${format(own)}`}`;
  const middle = Math.max(2, round(x(q3) - x(q1)));
  return html`<svg class="quartiles" viewBox="0 0 ${width} ${height}" role="img" aria-label="${text}">
<line class="rule" x1="${margin}" x2="${width - margin}" y1="17" y2="17"/>
<rect class="middle-half" x="${x(q1)}" y="7" width="${middle}" height="20" rx="3"/>
<line class="median" x1="${x(median)}" x2="${x(median)}" y1="4" y2="30"/>
${own !== null && html`<circle class="own" cx="${x(own)}" cy="17" r="7"/>`}</svg>`;
}
