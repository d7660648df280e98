/** The parts that pages are made of. */
import { type FieldFault, Refused } from './api.ts';
import { type Html, html, link, type Part } from './html.ts';

export function heading(title: string, actions?: Part, intro?: Part): Html {
  return html`<div class="heading"><div><h1>${title}</h1>${intro !== undefined && html`<p class="intro">${intro}</p>`}</div>${actions !== undefined && html`<div class="actions">${actions}</div>`}</div>`;
}

export function card(title: string, body: Part, actions?: Part): Html {
  return html`<section class="card"><div class="card-head"><h2>${title}</h2>${actions}</div>${body}</section>`;
}

/** The same without a name, where the page's own says it all. */
export function panel(body: Part): Html {
  return html`<section class="card">${body}</section>`;
}

/** A part of the page that may be refused: then it says so, and the rest of the page is there all the same. */
export function cardOf<Answer>(
  title: string,
  answer: Answer | Refused,
  body: (answer: Answer) => Part,
): Html {
  return card(title, answer instanceof Refused ? notice(answer) : body(answer));
}

export function notice(refused: Refused): Html {
  return html`<p class="quiet">${requirement(refused)}</p>`;
}

/** Why something is not shown: the scope that is missing, or the API's message. */
export function requirement(refused: Refused): Html {
  return refused.code === 'missing_scope'
    ? html`Requires <code>${String(refused.details.required)}</code>`
    : html`${refused.message}`;
}

/** What was not right, read out at once, with the fields that do not stand beside it. */
export function alert(text: string, faults: readonly FieldFault[] = []): Html {
  return html`<div class="alert" role="alert"><p>${text}</p>${faults.length > 0 && html`<ul>${faults.map(({ field, message }) => html`<li><code>${field}</code>: ${message}</li>`)}</ul>`}</div>`;
}

/** Said when there is nothing yet: what this is for, and what to do first. */
export function empty(title: string, text: Part, action?: Part): Html {
  return html`<div class="empty"><p class="empty-title">${title}</p><p>${text}</p>${action}</div>`;
}

export type Tone = 'good' | 'warn' | 'bad' | 'plain' | 'info';

export function badge(text: string, tone: Tone = 'plain'): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: true;
  cell(row: Row): Part;
}

export interface TableOptions<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
}

export function table<Row>({ caption, columns, rows }: TableOptions<Row>): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${caption}"><table><caption class="hidden">${caption}</caption>
<thead><tr>${columns.map(({ title, isNumber }) => html`<th scope="col"${isNumber && html` class="number"`}>${title === '' ? html`<span class="hidden">Actions</span>` : title}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${columns.map(({ cell, isNumber }) => html`<td${isNumber && html` class="number"`}>${cell(row)}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** Names and values, one under the other. */
export function facts(entries: readonly (readonly [string, Part])[]): Html {
  return html`<dl class="facts">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A figure; a dash where it may not be read. A refused answer must never appear as zero, or as nothing. */
export function statOf<Answer>(
  label: string,
  answer: Answer | Refused,
  value: (answer: Answer) => Part,
  note?: (answer: Answer) => Part,
): Html {
  return answer instanceof Refused
    ? stat(label, '–', requirement(answer))
    : stat(label, value(answer), note?.(answer));
}

export function stat(label: string, value: Part, note?: Part): Html {
  return html`<div class="stat"><span class="stat-label">${label}</span><strong class="stat-value">${value}</strong>${note !== undefined && html`<span class="stat-note">${note}</span>`}</div>`;
}

/** Lists go forward page by page; the browser's own way leads back. */
export function nextPage(path: string, query: URLSearchParams, cursor: string | null): Html | false {
  return (
    cursor !== null &&
    html`<nav class="pages" aria-label="Pages"><a class="button" href="${link(path, { ...Object.fromEntries(query), done: undefined, cursor })}" rel="next">Next page</a></nav>`
  );
}

export interface Action {
  readonly path: string;
  readonly label: string;
  readonly tone?: 'primary' | 'danger';
  readonly fields?: Readonly<Record<string, string>>;
  /** For those who do not see what it stands beside. */
  readonly about?: string;
}

/** One button that does something at once. */
export function actionButton({ path, label, tone, fields = {}, about }: Action): Html {
  return html`<form method="post" action="${path}" class="inline">${hiddenFields(fields)}<button class="button ${tone}">${label}${about !== undefined && html`<span class="hidden"> ${about}</span>`}</button></form>`;
}

/** A button that asks first what cannot be undone. It needs no script: the question is folded away. */
export function askFirst(action: Action, question: Part): Html {
  const { path, label, fields = {}, about } = action;
  return html`<details class="ask"><summary class="button">${label}${about !== undefined && html`<span class="hidden"> ${about}</span>`}</summary>
<form method="post" action="${path}" class="ask-box">${hiddenFields(fields)}<p>${question}</p><button class="button danger">${label}</button></form></details>`;
}

function hiddenFields(fields: Readonly<Record<string, string>>): Html[] {
  return Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
}

/** A secret that is shown this once. */
export function secretBox(label: string, secret: string): Html {
  return html`<div class="secret" role="status"><p><strong>${label}</strong> It is shown this once. Copy it now.</p>
<p class="secret-line"><code id="secret">${secret}</code><button class="button needs-script" type="button" data-copy="secret">Copy</button></p></div>`;
}

export function code(text: string): Html {
  return html`<code>${text}</code>`;
}
