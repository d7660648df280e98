/** The axes of line and bar charts: amounts on y, labels on x. */
import { html, type Markup } from '../html.ts';
import { round, shownLabels, ticksBetween } from './scale.ts';
import { rule } from './shapes.ts';

export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  y(value: number): number;
  readonly axes: Markup;
  /** The amounts again, for narrow screens that begin at the end of the chart. Drawn above everything else. */
  readonly amountsAtEnd: Markup;
}

/** Half or full page width. Each is drawn at its own size, so that text stays readable. */
export type Size = 'half' | 'full';
const sizes = {
  half: { width: 560, height: 230, labelsMost: 7 },
  full: { width: 1_000, height: 280, labelsMost: 12 },
} as const;
const top = 12;
const left = 52;
const rightMargin = 8;
const bottomMargin = 26;
const lastLabelRoom = 40;

export function plane(
  size: Size,
  largest: number,
  labels: readonly string[],
  x: (index: number) => number,
  format: (value: number) => string,
  lowest = 0,
): Plane {
  const { width, height, labelsMost } = sizes[size];
  const right = width - rightMargin;
  const bottom = height - bottomMargin;
  const { min, max, values } = ticksBetween(lowest, largest);
  const y = (value: number) => round(bottom - ((Math.max(min, value) - min) / (max - min)) * (bottom - top));
  const shown = shownLabels(labels.length, labelsMost);
  // A centered last label would be cut off at the right edge, except under a wide bar.
  const isAtEdge = (index: number) => index === labels.length - 1 && right - x(index) < lastLabelRoom;
  const axes = html`${values.map((value) => rule({ left, right, y: y(value), name: format(value) }))}
${labels.map((label, index) => {
  const [anchor, at] = isAtEdge(index) ? ['end', right] : ['middle', round(x(index))];
  return shown.has(index) && html`<text class="tick ${anchor}" x="${at}" y="${height - 8}">${label}</text>`;
})}`;
  const amounts = values.map(
    (value) => html`<text class="tick end" x="${right}" y="${y(value) + 4}">${format(value)}</text>`,
  );
  const amountsAtEnd = html`<g class="amounts-at-end" aria-hidden="true">${amounts}</g>`;
  return { width, height, left, right, bottom, y, axes, amountsAtEnd };
}

/** Returns the x coordinate of each of `length` points. */
export function pointAt(size: Size, length: number): (index: number) => number {
  const right = sizes[size].width - rightMargin;
  const step = length > 1 ? (right - left) / (length - 1) : 0;
  return (index) => left + index * step;
}

/** Returns the width and the x centers of `length` equal slots. */
export function slotAt(
  size: Size,
  length: number,
): { middle(index: number): number; readonly width: number } {
  const slot = (sizes[size].width - rightMargin - left) / Math.max(1, length);
  return { middle: (index) => left + (index + 0.5) * slot, width: slot };
}
