/** A paginated table, or its empty state. */
import type { Listed } from './api.ts';
import { buttonTo } from './buttons.ts';
import { empty, nextPage } from './components.ts';
import { isFiltered } from './filters.ts';
import { html, type Markup, type Part } from './html.ts';
import { type TableOptions, table } from './table.ts';

export interface Listing<Item> extends Omit<TableOptions<Item>, 'rows'> {
  readonly listed: Listed<Item>;
  /** Path and query of the page. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The empty state of an unfiltered list. */
  readonly none: Part;
  /** Replaces the link to the next page. */
  readonly pages?: Part;
}

export function listing<Item>({ listed, path, query, none, pages, ...options }: Listing<Item>): Markup {
  const { data, next_cursor } = listed;
  if (data.length > 0) {
    return html`${table({ ...options, rows: data })}${pages ?? nextPage(path, query, next_cursor)}`;
  }
  return isFiltered(query)
    ? empty('No matches', 'Try removing a filter.', buttonTo(path, 'Clear filters'))
    : html`${none}`;
}
