/** A list of the API on a page: what is in it and the way to the next page, or why there is nothing. */
import type { Listed } from './api.ts';
import { empty, nextPage, type TableOptions, table } from './components.ts';
import { isFiltered } from './filters.ts';
import { html, type Markup, type Part } from './html.ts';

export interface Listing<Item> extends Omit<TableOptions<Item>, 'rows'> {
  readonly listed: Listed<Item>;
  /** Of the page, and what it was asked for with. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Said where there is nothing at all: what this is for, and what to do first. */
  readonly none: Part;
}

export function listing<Item>({ listed, path, query, none, ...options }: Listing<Item>): Markup {
  const { data, next_cursor } = listed;
  if (data.length > 0) {
    return html`${table({ ...options, rows: data })}${nextPage(path, query, next_cursor)}`;
  }
  return isFiltered(query)
    ? empty('Nothing is like this', 'Try fewer filters.', html`<a class="button" href="${path}">Show all</a>`)
    : html`${none}`;
}
