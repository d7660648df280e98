/** Scatter chart with an optional minimum line. */
import { html, type Markup } from '../html.ts';
import { chart } from './frame.ts';
import { round, ticksUpTo } from './scale.ts';
import { mark, rule } from './shapes.ts';

export interface Point {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** True if the point reaches the minimum. */
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
  /** `from`: start of the axis, for points that are close together and far from zero. */
  readonly y: Axis & { readonly from?: number };
  readonly points: readonly Point[];
  /** The minimum on the y axis. */
  readonly minimum?: { readonly name: string; readonly value: number } | undefined;
}

const width = 1_000;
const height = 340;
const left = 52;
const right = width - 24;
const top = 16;
const bottom = height - 44;

export function scatterChart({ id, title, summary, x, y, points, minimum }: ScatterChart): Markup {
  const from = y.from ?? 0;
  const across = ticksUpTo(Math.max(0, ...points.map((point) => point.x)));
  const up = ticksUpTo(Math.max(0, minimum?.value ?? 0, ...points.map((point) => point.y)) - from);
  const placeX = (value: number) => round(left + (value / across.max) * (right - left));
  const placeY = (value: number) => round(bottom - ((value - from) / up.max) * (bottom - top));
  const drawing = [
    up.values.map((step) => rule({ left, right, y: placeY(from + step), name: y.format(from + step) })),
    across.values.map(
      (value) =>
        html`<text class="tick middle" x="${placeX(value)}" y="${bottom + 18}">${x.format(value)}</text>`,
    ),
    html`<text class="tick middle" x="${(left + right) / 2}" y="${height - 6}">${x.name}</text>`,
    minimum && mark({ left, right, y: placeY(minimum.value), name: minimum.name }),
    named(points.map((point) => ({ point, x: placeX(point.x), y: placeY(point.y) }))).map(
      ({ point, x: atX, y: atY, nameY }) => {
        const isRight = atX > right - nameWidth;
        return html`<circle class="${point.passes ? 'point passes' : 'point fails'}" cx="${atX}" cy="${atY}" r="6">
<title>${point.name}: ${x.format(point.x)}, ${y.format(point.y)}</title></circle>
<text class="point-name${isRight && ' end'}" x="${atX + (isRight ? -10 : 10)}" y="${nameY + 4}">${point.name}</text>`;
      },
    ),
  ];
  return chart({
    id,
    title,
    summary,
    width,
    height,
    drawing,
    columns: ['', x.name, y.name, ...(minimum === undefined ? [] : [minimum.name])],
    rows: points.map((point) => [
      point.name,
      x.format(point.x),
      y.format(point.y),
      ...(minimum === undefined ? [] : [point.passes ? 'passes' : 'fails']),
    ]),
  });
}

interface Placed {
  readonly point: Point;
  readonly x: number;
  readonly y: number;
}

const nameWidth = 130;
const nameHeight = 14;

/** Places names beside their points, moved down where they would overlap. */
function named(points: readonly Placed[]): (Placed & { readonly nameY: number })[] {
  const done: (Placed & { readonly nameY: number })[] = [];
  for (const placed of points.toSorted((a, b) => a.y - b.y)) {
    const near = done.filter((other) => Math.abs(other.x - placed.x) < nameWidth);
    const nameY = near.reduce(
      (y, other) => (Math.abs(other.nameY - y) < nameHeight ? other.nameY + nameHeight : y),
      placed.y,
    );
    done.push({ ...placed, nameY });
  }
  return done;
}
