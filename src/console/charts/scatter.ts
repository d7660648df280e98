/** Points by two measures, with a line that they have to stay above. */
import { type Html, html } from '../html.ts';
import { chart } from './frame.ts';
import { round, ticksUpTo } from './scale.ts';

export interface Point {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** Whether it is good enough. */
  readonly passes: boolean;
}

export interface Axis {
  readonly name: string;
  format(value: number): string;
}

export interface ScatterChart {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly points: readonly Point[];
  /** Along y. */
  readonly bar?: { readonly name: string; readonly value: number } | undefined;
}

const width = 640;
const height = 320;
const left = 56;
const right = width - 24;
const top = 16;
const bottom = height - 44;

export function scatterChart({ id, title, summary, x, y, points, bar }: ScatterChart): Html {
  const across = ticksUpTo(Math.max(0, ...points.map((point) => point.x)));
  const up = ticksUpTo(Math.max(0, bar?.value ?? 0, ...points.map((point) => point.y)));
  const placeX = (value: number) => round(left + (value / across.max) * (right - left));
  const placeY = (value: number) => round(bottom - (value / up.max) * (bottom - top));
  const drawing = [
    up.values.map(
      (value) =>
        html`<line class="rule" x1="${left}" x2="${right}" y1="${placeY(value)}" y2="${placeY(value)}"/><text class="tick end" x="${left - 8}" y="${placeY(value) + 4}">${y.format(value)}</text>`,
    ),
    across.values.map(
      (value) =>
        html`<text class="tick middle" x="${placeX(value)}" y="${bottom + 18}">${x.format(value)}</text>`,
    ),
    html`<text class="tick middle" x="${(left + right) / 2}" y="${height - 6}">${x.name}</text>`,
    bar &&
      html`<line class="mark" x1="${left}" x2="${right}" y1="${placeY(bar.value)}" y2="${placeY(bar.value)}"/><text class="mark-name end" x="${right}" y="${placeY(bar.value) - 5}">${bar.name}</text>`,
    points.map((point) => {
      const isRight = placeX(point.x) > right - 120;
      return html`<circle class="${point.passes ? 'point passes' : 'point fails'}" cx="${placeX(point.x)}" cy="${placeY(point.y)}" r="6"><title>${point.name}: ${x.format(point.x)}, ${y.format(point.y)}</title></circle><text class="point-name${isRight && ' end'}" x="${placeX(point.x) + (isRight ? -10 : 10)}" y="${placeY(point.y) + 4}">${point.name}</text>`;
    }),
  ];
  return chart({
    id,
    title,
    summary,
    width,
    height,
    drawing,
    columns: ['', x.name, y.name, ...(bar === undefined ? [] : [bar.name])],
    rows: points.map((point) => [
      point.name,
      x.format(point.x),
      y.format(point.y),
      ...(bar === undefined ? [] : [point.passes ? 'passes' : 'fails']),
    ]),
  });
}
