/** Shapes that several charts draw. */
import { html, type Markup } from '../html.ts';

/** A horizontal line over the width of a chart. */
interface Horizontal {
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly name: string;
}

/** A line of the y axis with its amount. */
export function rule({ left, right, y, name }: Horizontal): Markup {
  return html`<line class="rule" x1="${left}" x2="${right}" y1="${y}" y2="${y}"/>
<text class="tick end" x="${left - 8}" y="${y + 4}">${name}</text>`;
}

/** A value to compare with, such as a limit. */
export function mark({ left, right, y, name }: Horizontal): Markup {
  return html`<line class="mark" x1="${left}" x2="${right}" y1="${y}" y2="${y}"/>
<text class="mark-name end" x="${right}" y="${y - 5}">${name}</text>`;
}

export interface TitledRect {
  readonly className: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly title: string;
}

export function titledRect({ className, x, y, width, height, title }: TitledRect): Markup {
  return html`<rect class="${className}" x="${x}" y="${y}" width="${width}" height="${height}"><title>${title}</title></rect>`;
}
