/** The position in a list, with links to the previous and the next page. */
import { count } from './format.ts';
import { html, link, type Markup } from './html.ts';

export interface TwoWayListed {
  readonly data: readonly unknown[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly count?: { readonly value: number; readonly exact: boolean };
}

/** The number of the first row, which a cursor does not say: it comes with the link. */
function firstRow(query: URLSearchParams): number {
  const first = Number(query.get('first') ?? 1);
  return query.has('cursor') && Number.isSafeInteger(first) && first > 0 ? first : 1;
}

export function pager(path: string, query: URLSearchParams, listed: TwoWayListed, perPage: number): Markup {
  const { data, next_cursor, prev_cursor } = listed;
  const first = prev_cursor === null ? 1 : firstRow(query);
  const to = (cursor: string | null, at: number) =>
    link(path, {
      ...Object.fromEntries(query),
      done: undefined,
      cursor: cursor ?? undefined,
      first: cursor === null ? undefined : String(at),
    });
  const previousAt = Math.max(1, first - perPage);
  return html`<nav class="pages" aria-label="Pages"><p class="position">${positionText(first, listed)}</p>
${prev_cursor !== null && html`<a class="button" href="${to(previousAt === 1 ? null : prev_cursor, previousAt)}" rel="prev">Previous page</a>`}
${next_cursor !== null && html`<a class="button" href="${to(next_cursor, first + data.length)}" rel="next">Next page</a>`}</nav>`;
}

/** A count that is only a lower bound is shown as one. The last page gives the exact number all the same. */
function positionText(first: number, { data, next_cursor, count: total }: TwoWayListed): string {
  const last = first + data.length - 1;
  const shown = `${count(first)}–${count(last)}`;
  if (next_cursor === null) {
    return `${shown} of ${count(last)}`;
  }
  if (total === undefined) {
    return shown;
  }
  // New rows may have come since the first page.
  return `${shown} of ${count(Math.max(total.value, last))}${total.exact ? '' : '+'}`;
}
