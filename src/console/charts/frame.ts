/** The frame of every chart: title, summary for screen readers, legend and data table. */
import { html, type Markup, type Part } from '../html.ts';
import { cellLink } from './links.ts';

/** Width of a chart that fills the page. */
const fullWidth = 1_000;

export interface Frame {
  /** Unique on its page. */
  readonly id: string;
  readonly title: string;
  /** The summary of the chart in a sentence. */
  readonly summary: string;
  readonly width: number;
  readonly height: number;
  readonly drawing: Part;
  readonly legend?: readonly LegendEntry[];
  readonly columns: readonly string[];
  /** The first cell names the row; the others are numbers. */
  readonly rows: readonly (readonly Part[])[];
  /** Set for a time series: on narrow screens it starts scrolled to its end. */
  readonly endsNow?: boolean;
  /** True if the drawing has links, which an image must not contain. Its table must have the same links. */
  readonly hasLinks?: boolean;
}

export interface LegendEntry {
  readonly name: string;
  /** A class of the stylesheet, such as `series-1`. */
  readonly className: string;
  readonly href?: string | undefined;
}

export function chart({
  id,
  title,
  summary,
  width,
  height,
  drawing,
  legend = [],
  columns,
  rows,
  endsNow = false,
  hasLinks = false,
}: Frame): Markup {
  const legendItem = ({ className, name, href }: LegendEntry) =>
    html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
<rect class="${className}" width="10" height="10" rx="2"/></svg>${cellLink(href, name)}</li>`;
  return html`<figure class="chart" aria-labelledby="${id}-name">
<figcaption id="${id}-name">${title}</figcaption>
${legend.length > 0 && html`<ul class="legend">${legend.map(legendItem)}</ul>`}
<div class="chart-scroll${endsNow && ' from-end'}" tabindex="0" role="group" aria-label="${title}">
<svg viewBox="0 0 ${width} ${height}"${width >= fullWidth && html` class="full"`}
 role="${hasLinks ? 'group' : 'img'}" aria-labelledby="${id}-title ${id}-desc">
<title id="${id}-title">${title}</title><desc id="${id}-desc">${summary}</desc>${drawing}</svg></div>
<details class="as-table"><summary>View as table</summary><div class="scroll"><table>
<thead><tr>${columns.map((column, index) => html`<th scope="col"${index > 0 && html` class="number"`}>${column}</th>`)}</tr></thead>
<tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>`)}</tbody>
</table></div></details></figure>`;
}
