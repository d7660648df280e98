/** Tables. */
import { html, type Markup, type Part } from './html.ts';

export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: true;
  /** A link that sorts the rows by this column. */
  readonly sort?: SortLink;
  cell(row: Row): Part;
}

export interface SortLink {
  readonly href: string;
  /** Undefined if the rows are sorted by another column. */
  readonly order: 'ascending' | 'descending' | undefined;
  /** Explains the order if it differs from the values that the column shows. */
  readonly title?: string;
}

export interface TableOptions<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Content below a row, in the full width of the table. */
  below?(row: Row): Part;
  /** Cells of a last row with totals, one per column. A column without a total has an empty cell. */
  readonly totals?: readonly Part[];
}

/**
 * On a narrow screen each row is a card, with the column's title beside each value. That layout hides the table from screen
 * readers, hence the roles.
 */
export function table<Row>({ caption, columns, rows, below, totals }: TableOptions<Row>): Markup {
  const cell = ({ title, isNumber }: Column<Row>, content: Part) =>
    html`<td role="cell"${isNumber && html` class="number"`}${title !== '' && html` data-title="${title}"`}>${content}</td>`;
  const row = (
    one: Row,
  ) => html`<tr role="row">${columns.map((column) => cell(column, column.cell(one)))}</tr>
${below && html`<tr role="row" class="below"><td role="cell" colspan="${columns.length}">${below(one)}</td></tr>`}`;
  const foot = totals && columns.map((column, index) => cell(column, totals[index]));
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${caption}">
<table class="stacks" role="table"><caption class="hidden">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(columnHead)}</tr></thead>
<tbody role="rowgroup">${rows.map(row)}${foot && html`<tr role="row" class="totals">${foot}</tr>`}</tbody></table></div>`;
}

function columnHead<Row>({ title, isNumber, sort }: Column<Row>): Markup {
  const order = sort?.order !== undefined && html` aria-sort="${sort.order}"`;
  const hint = sort?.title !== undefined && html` title="${sort.title}"`;
  const name = title === '' ? html`<span class="hidden">Actions</span>` : title;
  return html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}${order}>${
    sort === undefined ? name : html`<a class="sort" href="${sort.href}"${hint}>${name}</a>`
  }</th>`;
}
