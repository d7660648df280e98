/** Links in charts and in the tables behind them. */
import { html, type Markup, type Part } from '../html.ts';

/** Not a stop of the keyboard, which has the same links in the table: a chart may have hundreds. */
export function linked(href: string | undefined, drawing: Markup): Markup {
  return href === undefined ? drawing : html`<a href="${href}" tabindex="-1">${drawing}</a>`;
}

export function cellLink(href: string | undefined, text: string): Part {
  return href === undefined ? text : html`<a href="${href}">${text}</a>`;
}
