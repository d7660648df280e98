/** The axes that line and bar charts share: amounts upwards, labels along the bottom. */
import { type Html, html } from '../html.ts';
import { round, shownLabels, ticksUpTo } from './scale.ts';

export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  y(value: number): number;
  readonly axes: Html;
}

const width = 560;
const height = 230;
const top = 12;
const left = 52;
const right = width - 8;
const bottom = height - 26;
const labelsMost = 7;

export function plane(
  largest: number,
  labels: readonly string[],
  x: (index: number) => number,
  format: (value: number) => string,
): Plane {
  const ticks = ticksUpTo(largest);
  const y = (value: number) => round(bottom - (Math.max(0, value) / ticks.max) * (bottom - top));
  const shown = shownLabels(labels.length, labelsMost);
  const axes = html`${ticks.values.map((value) => html`<line class="rule" x1="${left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/><text class="tick end" x="${left - 8}" y="${y(value) + 4}">${format(value)}</text>`)}
${labels.map((label, index) => shown.has(index) && html`<text class="tick ${index === labels.length - 1 ? 'end' : 'middle'}" x="${index === labels.length - 1 ? right : round(x(index))}" y="${height - 8}">${label}</text>`)}`;
  return { width, height, left, right, bottom, y, axes };
}

/** Where the `index`th of so many points stands. */
export function pointAt(length: number): (index: number) => number {
  const step = length > 1 ? (right - left) / (length - 1) : 0;
  return (index) => left + index * step;
}

/** The middle of the `index`th of so many equal slots. */
export function slotAt(length: number): { middle(index: number): number; readonly width: number } {
  const slot = (right - left) / Math.max(1, length);
  return { middle: (index) => left + (index + 0.5) * slot, width: slot };
}
