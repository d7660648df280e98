/** The frame of every chart: title, summary for screen readers, legend and data table. */
import { html, type Markup, type Part } from '../html.ts';

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
  readonly rows: readonly (readonly string[])[];
  /** Set for a time series: on narrow screens it starts scrolled to its end. */
  readonly endsNow?: true;
  /** Target of each row, if the drawing has links. Screen readers and the keyboard find them in the table. */
  readonly links?: readonly string[];
}

export interface LegendEntry {
  readonly name: string;
  /** A class of the stylesheet, such as `series-1`. */
  readonly className: string;
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
  endsNow,
  links,
}: Frame): Markup {
  return html`<figure class="chart" aria-labelledby="${id}-name">
<figcaption id="${id}-name">${title}</figcaption>
${legend.length > 0 && html`<ul class="legend">${legend.map((entry) => html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${entry.className}" width="10" height="10" rx="2"/></svg>${entry.name}</li>`)}</ul>`}
<div class="chart-scroll${endsNow && ' from-end'}" tabindex="0" role="group" aria-label="${title}"><svg viewBox="0 0 ${width} ${height}"${width >= fullWidth && html` class="full"`} role="${links === undefined ? 'img' : 'group'}" aria-labelledby="${id}-title ${id}-desc">
<title id="${id}-title">${title}</title><desc id="${id}-desc">${summary}</desc>${drawing}</svg></div>
<details class="as-table"><summary>View as table</summary><div class="scroll"><table>
<thead><tr>${columns.map((column, index) => html`<th scope="col"${index > 0 && html` class="number"`}>${column}</th>`)}</tr></thead>
<tbody>${rows.map(([name, ...cells], index) => html`<tr><th scope="row">${links?.[index] === undefined ? name : html`<a href="${links[index]}">${name}</a>`}</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>`)}</tbody>
</table></div></details></figure>`;
}
