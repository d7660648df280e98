/** Stacked bar chart, whose bars and segments may be links. */
import { html, type Markup } from '../html.ts';
import { chart } from './frame.ts';
import { cellLink, linked } from './links.ts';
import { plane, type Size, slotAt } from './plane.ts';
import { round } from './scale.ts';
import { titledRect } from './shapes.ts';

export interface BarPart {
  readonly name: string;
  readonly className: string;
  /** One value per label. */
  readonly values: readonly number[];
  /** A link to all bars of this part, in the legend. */
  readonly href?: string | undefined;
  /** A link to the segment at a label. */
  segmentHref?(index: number): string | undefined;
}

export interface BarChart {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  /** Default: half. */
  readonly size?: Size;
  readonly labels: readonly string[];
  readonly parts: readonly BarPart[];
  /** False if the labels are not times. Default: true. */
  readonly isOverTime?: boolean;
  /** A link to a whole bar. */
  barHref?(index: number): string | undefined;
  formatTick(value: number): string;
  format(value: number): string;
}

const gapShare = 0.28;
/** If there are more bars, each bar is one link: links of all segments would be most of the page. */
const barsWithSegmentLinksMax = 35;

export function barChart(input: BarChart): Markup {
  const { id, title, summary, size = 'half', labels, parts, isOverTime = true, formatTick, format } = input;
  const slot = slotAt(size, labels.length);
  const sums = labels.map((_, index) => parts.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const area = plane(size, Math.max(0, ...sums), labels, slot.middle, formatTick);
  const barWidth = round(slot.width * (1 - gapShare));
  const barHref = (index: number) => input.barHref?.(index);
  const segmentHref = (part: BarPart, index: number) =>
    labels.length > barsWithSegmentLinksMax ? undefined : part.segmentHref?.(index);
  const bars = labels.map((label, index) => {
    const href = barHref(index);
    const isOneLink = parts.every((part) => segmentHref(part, index) === undefined);
    let below = 0;
    const segments = parts.map((part) => {
      const value = part.values[index] ?? 0;
      const y = area.y(below + value);
      const height = round(area.y(below) - y);
      below += value;
      return (
        height > 0 &&
        linked(
          isOneLink ? undefined : (segmentHref(part, index) ?? href),
          titledRect({
            className: part.className,
            x: round(slot.middle(index) - barWidth / 2),
            y,
            width: barWidth,
            height,
            title: `${label}, ${part.name}: ${format(value)}`,
          }),
        )
      );
    });
    if (href === undefined) {
      return segments;
    }
    // The whole column is a link, also where the bar is low.
    const column = titledRect({
      className: 'column',
      x: round(slot.middle(index) - slot.width / 2),
      y: 0,
      width: round(slot.width),
      height: area.height,
      title: `${label}: ${format(sums[index] ?? 0)}`,
    });
    return isOneLink ? linked(href, html`${column}${segments}`) : [linked(href, column), segments];
  });
  const hasLinks = input.barHref !== undefined || parts.some((part) => part.segmentHref !== undefined);
  return chart({
    id,
    title,
    summary,
    width: area.width,
    height: area.height,
    endsNow: isOverTime,
    hasLinks,
    drawing: [area.axes, bars, isOverTime && area.amountsAtEnd],
    legend: parts.length > 1 ? parts : [],
    columns: ['', ...parts.map(({ name }) => name)],
    rows: labels.map((label, index) => [
      cellLink(barHref(index), label),
      ...parts.map((part) => {
        const value = part.values[index] ?? 0;
        return cellLink(value === 0 ? undefined : segmentHref(part, index), format(value));
      }),
    ]),
  });
}
