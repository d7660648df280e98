/** What every chart has around it: a name, a sentence for those who do not see it, and its numbers as a table. */
import { html, type Markup, type Part } from '../html.ts';

/** As wide as a page; others stand beside one another. */
const fullWidth = 1_000;

export interface Frame {
  /** Unique on its page. */
  readonly id: string;
  readonly title: string;
  /** What the picture tells, in a sentence. */
  readonly summary: string;
  readonly width: number;
  readonly height: number;
  readonly drawing: Part;
  readonly legend?: readonly LegendEntry[];
  readonly columns: readonly string[];
  /** The first cell names the row; the others are numbers. */
  readonly rows: readonly (readonly string[])[];
  /** Over time: where it is wider than the screen, its end is what matters. */
  readonly endsNow?: true;
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
}: Frame): Markup {
  return html`<figure class="chart" aria-labelledby="${id}-name">
<figcaption id="${id}-name">${title}</figcaption>
${legend.length > 0 && html`<ul class="legend">${legend.map((entry) => html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${entry.className}" width="10" height="10" rx="2"/></svg>${entry.name}</li>`)}</ul>`}
<div class="chart-scroll${endsNow && ' from-end'}" tabindex="0" role="group" aria-label="${title}"><svg viewBox="0 0 ${width} ${height}"${width >= fullWidth && html` class="full"`} role="img" aria-labelledby="${id}-title ${id}-desc">
<title id="${id}-title">${title}</title><desc id="${id}-desc">${summary}</desc>${drawing}</svg></div>
<details class="as-table"><summary>Show as a table</summary><div class="scroll"><table>
<thead><tr>${columns.map((column, index) => html`<th scope="col"${index > 0 && html` class="number"`}>${column}</th>`)}</tr></thead>
<tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>`)}</tbody>
</table></div></details></figure>`;
}
