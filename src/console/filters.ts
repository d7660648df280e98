/** The filters above a list: a form that is sent as the page's address, so that a filtered list can be kept and shared. */
import { words } from './format.ts';
import type { Option } from './forms.ts';
import { html, type Markup } from './html.ts';

export interface Filter {
  /** Of the API's parameter. */
  readonly name: string;
  readonly label: string;
  /** Without them it is typed. */
  readonly options?: readonly Option[];
  /** What stands for none of them. */
  readonly all?: string;
  /** Folded away until it is used. */
  readonly isRare?: true;
}

/** Parameters of a list's address that filter nothing. */
const notFilters = ['cursor', 'done', 'still', 'sort', 'limit'];

/** Filters of the address that the page has no field for. The API may know them, and they are shown with the others. */
function unlisted(filters: readonly Filter[], query: URLSearchParams, own: readonly string[]): Filter[] {
  const listed = [...filters.map(({ name }) => name), ...notFilters, ...own];
  return [...new Set(query.keys())]
    .filter((name) => !listed.includes(name))
    .map((name) => ({ name, label: words(name) }));
}

/** `own`: parameters of the address that are the page's, and no filters. */
export function filterBar(
  path: string,
  filters: readonly Filter[],
  query: URLSearchParams,
  own: readonly string[] = [],
): Markup | false {
  const all = [...filters, ...unlisted(filters, query, own)];
  const field = (filter: Filter) =>
    html`<div class="field"><label for="filter-${filter.name}">${filter.label}</label>${control(filter, query.get(filter.name) ?? '')}</div>`;
  const rare = all.filter(({ isRare }) => isRare);
  const isFolded = rare.every(({ name }) => (query.get(name) ?? '') === '');
  return (
    all.length > 0 &&
    html`<form method="get" action="${path}" class="filters" role="search" aria-label="Filters" data-submit-on-change>${all.filter(({ isRare }) => !isRare).map(field)}
${rare.length > 0 && html`<details class="more-filters"${!isFolded && html` open`}><summary>More filters</summary><div class="filters">${rare.map(field)}</div></details>`}
<button class="button">Apply</button>${isFiltered(query, own) && html`<a class="button" href="${path}">Show all</a>`}</form>`
  );
}

function control({ name, options, all = 'All' }: Filter, value: string): Markup {
  return options === undefined
    ? html`<input type="text" id="filter-${name}" name="${name}" value="${value}" autocomplete="off">`
    : html`<select id="filter-${name}" name="${name}"><option value="">${all}</option>${options.map((option) => html`<option value="${option.value}"${option.value === value && html` selected`}>${option.label}</option>`)}</select>`;
}

/** What the address asks for, as the API takes it. A filter that the API does not know is refused by it, never dropped. */
export function filterQuery(
  query: URLSearchParams,
  own: readonly string[] = [],
): Record<string, string | undefined> {
  const dropped = [...notFilters.filter((name) => name !== 'cursor'), ...own];
  return Object.fromEntries(
    [...query]
      .filter(([name]) => !dropped.includes(name))
      .map(([name, value]) => [name, value.trim() || undefined]),
  );
}

export function isFiltered(query: URLSearchParams, own: readonly string[] = []): boolean {
  return [...query].some(([name, value]) => value !== '' && ![...notFilters, ...own].includes(name));
}
