/** Buttons and links that look like buttons. Those of a form are shown to visitors who may use it. */
import { randomUUID } from 'node:crypto';
import { card } from './components.ts';
import { html, type Markup, type Part } from './html.ts';
import { hiddenInputs, onceInput } from './inputs.ts';
import type { ScreenVisit } from './screen.ts';

/** A link to another page that looks like a button. */
export function buttonTo(href: string, label: Part): Markup {
  return html`<a class="button" href="${href}">${label}</a>`;
}

/** The access check that buttons need. */
export type ButtonVisitor = Pick<ScreenVisit, 'denied'>;

/** Returns `part` if the visitor may use the form at `path`, else false. */
export function offered(visitor: ButtonVisitor, path: string, part: Part): Part {
  return visitor.denied(path) === undefined && part;
}

/** A link to a form, if the visitor may use it. */
export function linkButton(visitor: ButtonVisitor, { path, label, tone, about }: Action): Markup | false {
  return (
    visitor.denied(path) === undefined &&
    html`<a class="button ${tone}" href="${path}">${label}${aboutText(about)}</a>`
  );
}

function aboutText(about: string | undefined): Markup | false {
  return about !== undefined && html`<span class="hidden"> ${about}</span>`;
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
export function actionButton(visitor: ButtonVisitor, action: Action): Markup | false {
  const { path, label, tone, about } = action;
  return (
    visitor.denied(path) === undefined &&
    html`<form method="post" action="${path}" class="inline">${hiddenFields(action)}
<button class="button ${tone}">${label}${aboutText(about)}</button></form>`
  );
}

/**
 * A button with a confirmation, in a `details` element so that it works without JavaScript: “Cancel” then loads the page
 * again.
 */
export function confirmButton(visitor: ButtonVisitor, action: Action, question: Part): Markup | false {
  const { path, label, about, thing } = action;
  const named = thing === undefined || thing === '' ? label : `${label} “${thing}”`;
  return (
    visitor.denied(path) === undefined &&
    html`<details class="confirm"><summary class="button">${label}${aboutText(about)}</summary>
<form method="post" action="${path}" class="confirm-box">${hiddenFields(action)}<p>${question}</p>
<div class="form-end"><button class="button danger">${named}</button><a class="button" href="" data-close>Cancel</a></div></form></details>`
  );
}

function hiddenFields({ fields = {}, once }: Action): Markup {
  return html`${once && onceInput(randomUUID())}${hiddenInputs(fields)}`;
}
