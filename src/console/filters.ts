/** The filters above a list: a GET form, so that the URL of a filtered list can be bookmarked and shared. */
import { buttonTo } from './buttons.ts';
import { humanize } from './format.ts';
import { instantOf, type Option, optionsWith, selectOptions } from './forms.ts';
import { html, link, type Markup } from './html.ts';
import { hiddenInputs, labeled } from './inputs.ts';

export interface Filter {
  /** The name of the API's query parameter. */
  readonly name: string;
  readonly label: string;
  /** Omitted for a text field. */
  readonly options?: readonly Option[];
  /** Default: text. A `datetime-local` is in the time zone of the organization: use `withInstants`. */
  readonly type?: 'text' | 'date' | 'datetime-local' | 'search';
  /** Values that a text field suggests. */
  readonly suggestions?: readonly Option[];
  /** Label of the option that does not filter. Default: All. */
  readonly all?: string;
  /** Shown under “More filters”, which is folded unless such a filter is set. */
  readonly isRare?: true;
}

/** Query parameters of a list that are not filters. */
const notFilters = ['cursor', 'done', 'still', 'sort', 'limit'];

/** Filters in the URL that the page declares no field for. The API may accept them, so they are shown with the others. */
function unlisted(filters: readonly Filter[], query: URLSearchParams, own: readonly string[]): Filter[] {
  const listed = [...filters.map(({ name }) => name), ...notFilters, ...own];
  return [...new Set(query.keys())]
    .filter((name) => !listed.includes(name))
    .map((name) => ({ name, label: humanize(name) }));
}

/** `own`: query parameters of the page that are not filters. `kept`: those that stay when a filter is changed. */
export function filterBar(
  path: string,
  filters: readonly Filter[],
  query: URLSearchParams,
  own: readonly string[] = [],
  kept: readonly string[] = [],
): Markup | false {
  const all = [...filters, ...unlisted(filters, query, own)];
  const keptValues = Object.fromEntries(
    kept.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value !== ''),
  );
  const usual = all.filter(({ isRare }) => !isRare);
  const rare = all.filter(({ isRare }) => isRare);
  const isFolded = rare.every(({ name }) => (query.get(name) ?? '') === '');
  return (
    all.length > 0 &&
    html`<form method="get" action="${path}" class="filters" role="search" aria-label="Filters" data-submit-on-change>
${hiddenInputs(keptValues)}${filterFields(usual, query)}
${rare.length > 0 && moreFilters('More filters', !isFolded, filterFields(rare, query))}
<button class="button">Apply</button>${isFiltered(query, own) && buttonTo(link(path, keptValues), 'Clear filters')}</form>`
  );
}

export function moreFilters(title: string, isOpen: boolean, fields: readonly Markup[]): Markup {
  return html`<details class="more-filters"${isOpen && html` open`}><summary>${title}</summary>
<div class="filters">${fields}</div></details>`;
}

/** The fields of filters, with their values in the address. */
export function filterFields(filters: readonly Filter[], query: URLSearchParams): Markup[] {
  return filters.map((filter) =>
    labeled(`filter-${filter.name}`, filter.label, control(filter, query.get(filter.name) ?? '')),
  );
}

function control(
  { name, options, suggestions = [], all = 'All', type = 'text' }: Filter,
  value: string,
): Markup {
  if (options === undefined) {
    const input = html`<input type="${type}" id="filter-${name}" name="${name}" value="${value}" autocomplete="off"`;
    return suggestions.length === 0
      ? html`${input}>`
      : html`${input} list="values-${name}">
<datalist id="values-${name}">${suggestions.map(suggestion)}</datalist>`;
  }
  // A value of the address that is not among the options, such as one of another period, stays selected.
  const shown = selectOptions(optionsWith(value, options), value);
  return html`<select id="filter-${name}" name="${name}"><option value="">${all}</option>${shown}</select>`;
}

function suggestion({ value, label }: Option): Markup {
  return html`<option value="${value}"${label !== value && html` label="${label}"`}></option>`;
}

/** The query for the API. A filter that the API does not know is passed on, so that the API rejects it. */
export function filterQuery(
  query: URLSearchParams,
  own: readonly string[] = [],
): Record<string, string | undefined> {
  const excluded = [...notFilters.filter((name) => name !== 'cursor'), ...own];
  return Object.fromEntries(
    [...query]
      .filter(([name]) => !excluded.includes(name))
      .map(([name, value]) => [name, value.trim() || undefined]),
  );
}

/** Converts the local times in the query to instants. */
export function withInstants(
  query: Record<string, string | undefined>,
  filters: readonly Filter[],
  timezone: string,
): Record<string, string | undefined> {
  const times = filters.flatMap(({ name, type }) => {
    const value = type === 'datetime-local' && query[name];
    return value ? [[name, instantOf(value, timezone)]] : [];
  });
  return { ...query, ...Object.fromEntries(times) };
}

export function isFiltered(query: URLSearchParams, own: readonly string[] = []): boolean {
  return [...query].some(([name, value]) => value !== '' && ![...notFilters, ...own].includes(name));
}
