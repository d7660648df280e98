/** The list of customers: usage in a period with its trend, limits and credits. */
import { ApiFailure } from '../../api.ts';
import { buttonTo, linkButton } from '../../buttons.ts';
import { meter } from '../../charts/meter.ts';
import { sparkline } from '../../charts/sparkline.ts';
import { alert, card, empty } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { count, shortDate, usd } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { nowrap } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { type PagePeriod, periodBar, periodOf, periodParameters } from '../../periods.ts';
import type { Item } from '../../responses.ts';
import { fieldFilter, readUsedValues } from '../../run-filters.ts';
import { type ScreenVisit, view } from '../../screen.ts';
import type { Column } from '../../table.ts';
import { sortLink } from './run-list.ts';

type Customer = Item<'customers.list'>;

export const listPath = '/console/customers';
const defaultSort = '-period.cost_usd';
const sorts = [
  ['period.cost_usd', 'Lowest spend first'],
  ['-period.runs', 'Most runs first'],
  ['period.runs', 'Fewest runs first'],
  ['-period.last_active_on', 'Last active first'],
  ['period.last_active_on', 'Inactive for longest first'],
  ['customer_id', 'Name, all customers'],
  ['-customer_id', 'Name, descending, all customers'],
] as const;
const trendDaysMax = 92;
const dayMs = 86_400_000;

export async function listCustomers(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const period = periodOf(visit, '30d');
  const sort = query.get('sort') || defaultSort;
  const hasTrend =
    Date.parse(period.api.to ?? '') - Date.parse(period.api.from ?? '') <= trendDaysMax * dayMs;
  const [found, used] = await Promise.all([
    api.tryGet<'customers.list'>(
      link(`${org.path}/customers`, {
        ...filterQuery(query, periodParameters),
        ...period.api,
        trend: hasTrend ? 'true' : undefined,
        sort,
        limit: '50',
      }),
    ),
    readUsedValues(visit, period),
  ]);
  if (found instanceof ApiFailure && found.code !== 'validation_failed') {
    throw found;
  }
  const filters: readonly Filter[] = [
    {
      name: 'sort',
      label: 'Sort by',
      all: 'Highest spend first',
      options: sorts.map(([value, label]) => ({ value, label })),
    },
    fieldFilter('customer_id', used),
  ];
  const body =
    found instanceof ApiFailure
      ? alert('Invalid filters.', found.fields)
      : found.data.length === 0 && !query.has('cursor')
        ? nothingToShow(visit, sort)
        : listing({
            listed: found,
            path: listPath,
            query,
            none: nothingToShow(visit, sort),
            caption: 'Customers',
            columns: columnsFor(query, period, hasTrend),
          });
  const usage = link('/console/usage', { group_by: 'customer_id', ...period.query });
  const actions = [
    buttonTo(usage, 'View usage'),
    newButtons(visit),
    buttonTo(`${listPath}/erased`, 'Erased customers'),
  ];
  const intro = `Spend, limits and credits per end customer. ${period.label} (${org.timezone}).`;
  return view({
    title: 'Customers',
    actions,
    intro,
    status: found instanceof ApiFailure ? found.status : 200,
  })`
${periodBar({ path: listPath, query, period })}
${filterBar(listPath, filters, query, periodParameters, periodParameters)}${card('Customers', body)}`;
}

function nothingToShow(visit: ScreenVisit, sort: string): Markup {
  if ((visit.query.get('customer_id') ?? '') !== '') {
    return empty('No matches', 'Try removing a filter.', buttonTo(listPath, 'Clear filters'));
  }
  if (sort.includes('period.')) {
    const everyone = link(listPath, { ...Object.fromEntries(visit.query), sort: 'customer_id' });
    return empty(
      'No customers with usage in this range',
      'Customers appear here when runs have a customer. Sorted by name, the list also has customers without usage.',
      buttonTo(everyone, 'List all customers'),
    );
  }
  return empty(
    'No customers yet',
    html`Customers appear here when runs have a <code>customer_id</code>, or when they get a limit or credits.`,
    linkButton(visit, {
      path: '/console/limits/customers/new',
      label: 'Create customer limit',
      tone: 'primary',
    }),
  );
}

function newButtons(visit: ScreenVisit): Part {
  return [
    linkButton(visit, { path: '/console/limits/customers/new', label: 'Create customer limit' }),
    linkButton(visit, { path: '/console/limits/credits/new', label: 'Create credit pack' }),
  ];
}

function columnsFor(query: URLSearchParams, period: PagePeriod, hasTrend: boolean): Column<Customer>[] {
  const sort = (field: string) => sortLink(listPath, query, field, defaultSort);
  return [
    {
      title: 'Customer',
      sort: sort('customer_id'),
      cell: ({ customer_id }) =>
        html`<a href="${path`/console/customers/of/${customer_id}`}">${customer_id}</a>`,
    },
    {
      title: 'Spend',
      isNumber: true,
      sort: sort('period.cost_usd'),
      cell: (one) => usd(one.period?.cost_usd),
    },
    ...(hasTrend ? [{ title: 'Trend', cell: trendCell }] : []),
    { title: 'Runs', isNumber: true, sort: sort('period.runs'), cell: (one) => count(one.period?.runs) },
    {
      title: 'Last active',
      sort: sort('period.last_active_on'),
      cell: ({ period: used }) =>
        used?.last_active_on == null ? '–' : nowrap(shortDate(used.last_active_on)),
    },
    { title: 'Total spend', isNumber: true, cell: (one) => usd(one.cost_usd) },
    { title: 'Limits', cell: ownLimits },
    { title: 'Remaining credits', isNumber: true, cell: (one) => usd(one.credits_usd) },
    {
      title: '',
      cell: ({ customer_id }) =>
        html`<a href="${link('/console/usage', { customer_id, ...period.query })}">Usage<span class="hidden"> of ${customer_id}</span></a>
<a href="${link('/console/runs', { customer_id, ...period.query })}">Runs<span class="hidden"> of ${customer_id}</span></a>`,
    },
  ];
}

function trendCell({ period }: Customer): Part {
  const costs = (period?.trend ?? []).map(Number);
  const highest = Math.max(...costs, 0);
  return highest === 0
    ? html`<span class="quiet">–</span>`
    : sparkline(costs, `Spend per day over ${costs.length} days, at most ${usd(highest)} on one day`);
}

function ownLimits({ customer_id, limits }: Item<'customers.list'>): Part {
  return limits.length === 0
    ? html`<span class="quiet">default</span>`
    : limits.map(
        ({ period, limit_usd, spent_usd }) =>
          html`<div>${meter({
            label: `${customer_id}, per ${period}`,
            settled: Number(spent_usd),
            held: 0,
            limit: Number(limit_usd),
            format: usd,
          })}<span class="sub">${usd(spent_usd)} of ${usd(limit_usd)} this ${period}</span></div>`,
      );
}
