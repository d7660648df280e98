/** HTML components of pages. */
import { randomUUID } from 'node:crypto';
import { ApiFailure, type FieldError } from './api.ts';
import { capitalized } from './format.ts';
import { html, link, type Markup, type Part } from './html.ts';
import type { ScreenVisit } from './screen.ts';

export function heading(title: string, actions?: Part, intro?: Part): Markup {
  return html`<div class="heading"><div><h1>${title}</h1>${intro !== undefined && html`<p class="intro">${intro}</p>`}</div>${actions !== undefined && html`<div class="actions">${actions}</div>`}</div>`;
}

export function card(title: string, body: Part, actions?: Part): Markup {
  return html`<section class="card"><div class="card-head"><h2>${title}</h2>${actions}</div>${body}</section>`;
}

/** A card without a title. */
export function panel(body: Part): Markup {
  return html`<section class="card">${body}</section>`;
}

/** A card about an optional response: shows the error in its place. */
export function cardOf<Answer>(
  title: string,
  answer: Answer | ApiFailure,
  body: (answer: Answer) => Part,
): Markup {
  return card(title, answer instanceof ApiFailure ? notice(answer) : body(answer));
}

export function notice(failure: ApiFailure): Markup {
  return html`<p class="quiet">${requirement(failure)}</p>`;
}

/** The missing scope, or the API's message. */
export function requirement(failure: ApiFailure): Markup {
  return failure.code === 'missing_scope'
    ? html`Requires <code>${String(failure.details.required)}</code>`
    : html`${failure.message}`;
}

/** An error message, announced by screen readers, with the field errors that no field shows. */
export function alert(text: string, fieldErrors: readonly FieldError[] = []): Markup {
  return html`<div class="alert" role="alert"><p>${text}</p>${fieldErrors.length > 0 && html`<ul>${fieldErrors.map(({ field, message }) => html`<li><code>${field}</code>: ${message}</li>`)}</ul>`}</div>`;
}

/** The empty state of a list. */
export function empty(title: string, text: Part, action?: Part): Markup {
  return html`<div class="empty"><p class="empty-title">${title}</p><p>${text}</p>${action}</div>`;
}

export type Tone = 'good' | 'warn' | 'bad' | 'plain' | 'info';

/** A state, such as “Active”. */
export function badge(text: string, tone: Tone = 'plain'): Markup {
  return chip(capitalized(text), tone);
}

/** A value that is shown as it is, such as a tag or an error code. */
export function chip(text: string, tone: Tone = 'plain'): Markup {
  return html`<span class="badge ${tone}">${text}</span>`;
}

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
  /** Cells of a last row with totals, one per column; empty where there is none. */
  readonly totals?: readonly Part[];
}

/**
 * On a narrow screen each row is a card, with the column's title beside each value. That layout hides the table from screen
 * readers, hence the roles.
 */
export function table<Row>({ caption, columns, rows, below, totals }: TableOptions<Row>): Markup {
  const row = (one: Row) =>
    html`<tr role="row">${columns.map(({ title, cell, isNumber }) => html`<td role="cell"${isNumber && html` class="number"`}${title !== '' && html` data-title="${title}"`}>${cell(one)}</td>`)}</tr>${below && html`<tr role="row" class="below"><td role="cell" colspan="${columns.length}">${below(one)}</td></tr>`}`;
  const head = ({ title, isNumber, sort }: Column<Row>) =>
    html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}${sort?.order !== undefined && html` aria-sort="${sort.order}"`}>${title === '' ? html`<span class="hidden">Actions</span>` : sort === undefined ? title : html`<a class="sort" href="${sort.href}"${sort.title !== undefined && html` title="${sort.title}"`}>${title}</a>`}</th>`;
  const foot = ({ title, isNumber }: Column<Row>, index: number) =>
    html`<td role="cell"${isNumber && html` class="number"`}${title !== '' && html` data-title="${title}"`}>${totals?.[index]}</td>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${caption}"><table class="stacks" role="table"><caption class="hidden">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(head)}</tr></thead>
<tbody role="rowgroup">${rows.map(row)}${totals !== undefined && html`<tr role="row" class="totals">${columns.map(foot)}</tr>`}</tbody></table></div>`;
}

/** A list of names and values. */
export function definitionList(entries: readonly (readonly [string, Part])[]): Markup {
  return html`<dl class="facts">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A figure, or a dash if the response is an error: an error must never look like zero or nothing. */
export function statOf<Answer>(
  label: string,
  answer: Answer | ApiFailure,
  value: (answer: Answer) => Part,
  note?: (answer: Answer) => Part,
): Markup {
  return answer instanceof ApiFailure
    ? stat(label, '–', requirement(answer))
    : stat(label, value(answer), note?.(answer));
}

export function stat(label: string, value: Part, note?: Part): Markup {
  return html`<div class="stat"><span class="stat-label">${label}</span><strong class="stat-value">${value}</strong>${note !== undefined && html`<span class="stat-note">${note}</span>`}</div>`;
}

/** A link to the next page. There is none to the previous page: visitors use the browser's back button. */
export function nextPage(path: string, query: URLSearchParams, cursor: string | null): Markup | false {
  return (
    cursor !== null &&
    html`<nav class="pages" aria-label="Pages"><a class="button" href="${link(path, { ...Object.fromEntries(query), done: undefined, cursor })}" rel="next">Next page</a></nav>`
  );
}

/** The access check that buttons need. */
export type Visitor = Pick<ScreenVisit, 'denied'>;

/** Returns `part` if the visitor may use the form at `path`, else false. */
export function offered(visitor: Visitor, path: string, part: Part): Part {
  return visitor.denied(path) === undefined && part;
}

/** A link to a form, if the visitor may use it. */
export function linkButton(visitor: Visitor, { path, label, tone, about }: Action): Markup | false {
  return (
    visitor.denied(path) === undefined &&
    html`<a class="button ${tone}" href="${path}">${label}${about !== undefined && html`<span class="hidden"> ${about}</span>`}</a>`
  );
}

/** A card with one action, omitted if the visitor may not use it. */
export function actionCard(title: string, action: Markup | false, text?: Part): Markup | false {
  return action !== false && card(title, html`${text}<div class="form-end">${action}</div>`);
}

export interface Action {
  readonly path: string;
  readonly label: string;
  readonly tone?: 'primary' | 'danger';
  readonly fields?: Readonly<Record<string, string>>;
  /** Context of the label for screen readers. */
  readonly about?: string;
  /** The name of what a confirmed action changes, for the button that confirms it. */
  readonly thing?: string | undefined;
  /** Set if the response is a page, for example with a secret: a reload must not repeat the action. */
  readonly once?: true;
}

/** A button that acts immediately. */
export function actionButton(visitor: Visitor, action: Action): Markup | false {
  const { path, label, tone, about } = action;
  return (
    visitor.denied(path) === undefined &&
    html`<form method="post" action="${path}" class="inline">${hiddenFields(action)}<button class="button ${tone}">${label}${about !== undefined && html`<span class="hidden"> ${about}</span>`}</button></form>`
  );
}

/**
 * A button with a confirmation, in a `details` element so that it works without JavaScript: “Cancel” then loads the page
 * again.
 */
export function confirmButton(visitor: Visitor, action: Action, question: Part): Markup | false {
  const { path, label, about, thing } = action;
  const named = thing === undefined || thing === '' ? label : `${label} “${thing}”`;
  return (
    visitor.denied(path) === undefined &&
    html`<details class="ask"><summary class="button">${label}${about !== undefined && html`<span class="hidden"> ${about}</span>`}</summary>
<form method="post" action="${path}" class="ask-box">${hiddenFields(action)}<p>${question}</p><div class="form-end"><button class="button danger">${named}</button><a class="button" href="" data-close>Cancel</a></div></form></details>`
  );
}

export const onceField = 'once';

/** The token of one rendered form. */
export function onceInput(once: string): Markup {
  return hiddenInput(onceField, once);
}

/** Without `autocomplete="off"` browsers restore the value of an earlier page. */
export function hiddenInput(name: string, value: string): Markup {
  return html`<input type="hidden" name="${name}" value="${value}" autocomplete="off">`;
}

function hiddenFields({ fields = {}, once }: Action): Markup {
  return html`${once && onceInput(randomUUID())}${Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}`;
}

/** A secret that is shown once. */
export function secretBox(label: string, secret: string): Markup {
  return html`<div class="secret" role="status"><p><strong>${label}</strong> Copy it now; it will not be shown again.</p>
<p class="secret-line"><code id="secret">${secret}</code><button class="button needs-script" type="button" data-copy="secret">Copy</button></p></div>`;
}

export function code(text: string): Markup {
  return html`<code>${text}</code>`;
}
