/** Line chart with an optional range band and horizontal marks. */
import { html, type Markup, type Part } from '../html.ts';
import { chart } from './frame.ts';
import { cellLink, linked } from './links.ts';
import { plane, pointAt, type Size } from './plane.ts';
import { round } from './scale.ts';
import { mark, titledRect } from './shapes.ts';

export interface Line {
  readonly name: string;
  /** A class of the stylesheet, such as `series-1`. */
  readonly className: string;
  readonly dashed?: true;
  /** One value per label; null where the line is not drawn. */
  readonly values: readonly (number | null)[];
  /** Target of the link in the legend. */
  readonly href?: string | undefined;
}

export interface LineBand {
  readonly name: string;
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

export interface LineMark {
  readonly name: string;
  readonly value: number;
}

export interface LineChart {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  /** Default: half. */
  readonly size?: Size;
  readonly labels: readonly string[];
  readonly lines: readonly Line[];
  readonly band?: LineBand | undefined;
  readonly marks?: readonly LineMark[];
  /** Draws values below zero instead of cutting them off. */
  readonly showsNegative?: true;
  /** A link to the values at a label. */
  pointHref?(index: number): string | undefined;
  /** Formats axis labels. */
  formatTick(value: number): string;
  /** Formats table cells. */
  format(value: number): string;
}

export function lineChart(input: LineChart): Markup {
  const { id, title, summary, size = 'half', labels, lines, band, marks = [], formatTick, format } = input;
  const x = pointAt(size, labels.length);
  const values = [...lines.flatMap((line) => line.values), ...(band?.high ?? [])].map((value) => value ?? 0);
  const largest = Math.max(0, ...values, ...marks.map((mark) => mark.value));
  const area = plane(size, largest, labels, x, formatTick, input.showsNegative ? Math.min(0, ...values) : 0);
  const step = x(1) - x(0) || area.right - area.left;
  const drawing: Part = [
    area.axes,
    input.pointHref !== undefined &&
      labels.map((label, index) =>
        linked(
          input.pointHref?.(index),
          titledRect({
            className: 'column',
            x: round(x(index) - step / 2),
            y: 0,
            width: round(step),
            height: area.height,
            title: label,
          }),
        ),
      ),
    band && html`<path class="band" d="${bandPath(band, x, area.y)}"/>`,
    marks.map(({ name, value }) => mark({ ...area, y: area.y(value), name })),
    lines.map(
      ({ className, dashed, values: points }) =>
        html`<path class="line ${className}${dashed === true ? ' dashed' : ''}" d="${linePath(points, x, area.y)}"/>`,
    ),
    area.amountsAtEnd,
  ];
  const cell = (value: number | null | undefined) =>
    value === null || value === undefined ? '–' : format(value);
  return chart({
    id,
    title,
    summary,
    width: area.width,
    height: area.height,
    endsNow: true,
    drawing,
    hasLinks: input.pointHref !== undefined,
    legend: [
      ...lines.map(({ name, className, href }) => ({ name, className, href })),
      ...(band === undefined ? [] : [{ name: band.name, className: 'band' }]),
    ],
    columns: ['', ...lines.map(({ name }) => name), ...(band === undefined ? [] : ['Low', 'High'])],
    rows: labels.map((label, index) => [
      cellLink(input.pointHref?.(index), label),
      ...lines.map((line) => cell(line.values[index])),
      ...(band === undefined ? [] : [cell(band.low[index]), cell(band.high[index])]),
    ]),
  });
}

type Scale = (value: number) => number;

function linePath(values: readonly (number | null)[], x: Scale, y: Scale): string {
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false;
        return '';
      }
      const place = `${round(x(index))} ${y(value)}`;
      // The line of no length is a dot: a value without neighbors is drawn too.
      const drawn = isDrawing ? `L${place}` : `M${place}h0`;
      isDrawing = true;
      return drawn;
    })
    .join('');
}

function bandPath({ low, high }: LineBand, x: Scale, y: Scale): string {
  const points = (values: readonly (number | null)[]) =>
    values.flatMap((value, index) => (value === null ? [] : [`${round(x(index))} ${y(value)}`]));
  const outline = [...points(high), ...points(low).reverse()];
  return outline.length < 3 ? '' : `M${outline.join('L')}Z`;
}
