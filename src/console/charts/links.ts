/** Links in charts and in the tables behind them. */
import { html, type Markup, type Part } from '../html.ts';

/** Links a part of a chart, for the mouse only: a chart may have hundreds of parts, and its table has the same links. */
export function linked(href: string | undefined, drawing: Markup): Markup {
  return href === undefined ? drawing : html`<a href="${href}" tabindex="-1">${drawing}</a>`;
}

export function cellLink(href: string | undefined, text: string): Part {
  return href === undefined ? text : html`<a href="${href}">${text}</a>`;
}
