/** Components of pages: headings, cards, figures and messages. */
import { ApiFailure, type FormFieldError } from './api.ts';
import { html, link, type Markup, type Part } from './html.ts';

/** Links to the parts of a page, or to related pages. */
export function tabBar<Name extends string>(
  label: string,
  tabs: readonly (readonly [name: Name, title: string])[],
  current: string,
  hrefOf: (name: Name) => string = (name) => name,
): Markup {
  const tab = ([name, title]: readonly [Name, string]) =>
    html`<a href="${hrefOf(name)}"${name === current && html` aria-current="page"`}>${title}</a>`;
  return html`<nav class="tabs" aria-label="${label}">${tabs.map(tab)}</nav>`;
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
export function alert(text: string, fieldErrors: readonly FormFieldError[] = []): Markup {
  return html`<div class="alert" role="alert"><p>${text}</p>${fieldErrorList(fieldErrors)}</div>`;
}

export function fieldErrorList(fieldErrors: readonly FormFieldError[]): Markup | false {
  const item = ({ field, message }: FormFieldError) => html`<li><code>${field}</code>: ${message}</li>`;
  return fieldErrors.length > 0 && html`<ul>${fieldErrors.map(item)}</ul>`;
}

/** The empty state of a list. */
export function empty(title: string, text: Part, action?: Part): Markup {
  return html`<div class="empty"><p class="empty-title">${title}</p><p>${text}</p>${action}</div>`;
}

/** Preformatted text, such as JSON, that scrolls where it is too wide. */
export function preformatted(text: string): Markup {
  return html`<pre class="scroll" tabindex="0">${text}</pre>`;
}

/** A list of names and values. */
export function definitionList(entries: readonly (readonly [string, Part])[]): Markup {
  return html`<dl class="definitions">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
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
  return html`<div class="stat"><span class="stat-label">${label}</span><strong class="stat-value">${value}</strong>
${note !== undefined && html`<span class="stat-note">${note}</span>`}</div>`;
}

/** A link to the next page. There is none to the previous page: visitors use the browser's back button. */
export function nextPage(path: string, query: URLSearchParams, cursor: string | null): Markup | false {
  if (cursor === null) {
    return false;
  }
  const next = link(path, { ...Object.fromEntries(query), done: undefined, cursor });
  return html`<nav class="pages" aria-label="Pages"><a class="button" href="${next}" rel="next">Next page</a></nav>`;
}

/** A secret that is shown once. */
export function secretBox(label: string, secret: string): Markup {
  return html`<div class="secret" role="status"><p><strong>${label}</strong> Copy it now; it will not be shown again.</p>
<p class="secret-line"><code id="secret">${secret}</code><button class="button needs-script" type="button" data-copy="secret">Copy</button></p></div>`;
}
