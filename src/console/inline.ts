/** Short texts in cells and sentences: badges, codes and second lines. */
import { capitalized } from './format.ts';
import { html, type Markup, type Part } from './html.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'plain' | 'info';

/** A state, such as “Active”. */
export function badge(text: string, tone: Tone = 'plain'): Markup {
  return chip(capitalized(text), tone);
}

/** A value that is shown as it is, such as a tag or an error code. */
export function chip(text: string, tone: Tone = 'plain'): Markup {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** A smaller line below the content of a cell or item; nothing if there is no text. */
export function subline(text: Part): Markup | false {
  const isEmpty = text === null || text === undefined || text === false;
  return !isEmpty && html`<span class="sub">${text}</span>`;
}

export function code(text: string): Markup {
  return html`<code>${text}</code>`;
}

export function codeList(texts: readonly string[]): Markup[] {
  return texts.map((text) => html`<code>${text}</code> `);
}

export function nowrap(text: Part): Markup {
  return html`<span class="nowrap">${text}</span>`;
}
