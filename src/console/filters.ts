/** The filters above a list: a form that is sent as the page's address, so that a filtered list can be kept and shared. */
import type { Option } from './forms.ts';
import { type Html, html } from './html.ts';

export interface Filter {
  /** Of the API's parameter. */
  readonly name: string;
  readonly label: string;
  /** Without them it is typed. */
  readonly options?: readonly Option[];
  /** What stands for none of them. */
  readonly all?: string;
}

export function filterBar(path: string, filters: readonly Filter[], query: URLSearchParams): Html {
  return html`<form method="get" action="${path}" class="filters" role="search" aria-label="Filters" data-submit-on-change>${filters.map((filter) => html`<div class="field"><label for="filter-${filter.name}">${filter.label}</label>${control(filter, query.get(filter.name) ?? '')}</div>`)}
<button class="button">Apply</button>${isFiltered(filters, query) && html`<a class="button" href="${path}">Show all</a>`}</form>`;
}

function control({ name, options, all = 'All' }: Filter, value: string): Html {
  return options === undefined
    ? html`<input type="text" id="filter-${name}" name="${name}" value="${value}" autocomplete="off">`
    : html`<select id="filter-${name}" name="${name}"><option value="">${all}</option>${options.map((option) => html`<option value="${option.value}"${option.value === value && html` selected`}>${option.label}</option>`)}</select>`;
}

/** What the address asks for, as the API takes it: the filters and the place in the list, nothing else. */
export function filterQuery(
  filters: readonly Filter[],
  query: URLSearchParams,
): Record<string, string | undefined> {
  return Object.fromEntries(
    [...filters.map(({ name }) => name), 'cursor'].map((name) => [
      name,
      query.get(name)?.trim() || undefined,
    ]),
  );
}

export function isFiltered(filters: readonly Filter[], query: URLSearchParams): boolean {
  return filters.some(({ name }) => (query.get(name) ?? '') !== '');
}
