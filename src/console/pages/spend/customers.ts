/** End customers: spend, limits, credits and erasure. */
import { ApiFailure, type Listed } from '../../api.ts';
import { actionCard, buttonTo, linkButton } from '../../buttons.ts';
import { card, cardOf, empty, panel, stat, statOf } from '../../components.ts';
import { paidForCard } from '../../cost-kinds.ts';
import { filterQuery } from '../../filters.ts';
import { count, time, usd } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import { periodOf } from '../../periods.ts';
import { notSet } from '../../run-filters.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import type { LimitItem, UsageItem } from '../../views.ts';
import { costsByModel, modelsPerDay, spendPerDay } from '../insight/overview-charts.ts';
import { customerErasureScreens, customerPath, erasuresPath } from './customer-erasure.ts';
import { listCustomers, listPath } from './customer-list.ts';
import { limitTable } from './limits.ts';

const usageDays = 30;
const usuallyErasedWithinMs = 3_600_000;

export const customerScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: listCustomers },
  { path: erasuresPath, audience: 'org', handler: erasures },
  { path: customerPath, audience: 'org', handler: one },
  ...customerErasureScreens,
];

function newLimitAndPack(visit: ScreenVisit, customer_id: string): Part[] {
  return [
    linkButton(visit, {
      path: link('/console/limits/customers/new', { customer_id }),
      label: 'Create limit',
    }),
    linkButton(visit, {
      path: link('/console/limits/credits/new', { customer_id }),
      label: 'Create credit pack',
    }),
  ];
}

async function one(visit: ScreenVisit) {
  const { api, org, params, now } = visit;
  const { customer_id = '' } = params;
  const period = periodOf({ query: new URLSearchParams(), now, org }, '30d');
  const usage = (query: Readonly<Record<string, string>>) =>
    api.tryGet<'usage.read'>(
      link(`${org.path}/usage`, { limit: '200', ...query, customer_id, ...period.api }),
    );
  const [found, byDay, byDayAndModel, byModel, limits, forAll, paidFor] = await Promise.all([
    api.get<'customers.list'>(link(`${org.path}/customers`, { customer_id })),
    usage({ group_by: 'day' }),
    api.tryGet<'usage.series'>(
      link(`${org.path}/usage/series`, { ...modelsPerDay, customer_id, ...period.api }),
    ),
    usage({ group_by: 'model' }),
    api.tryGet<'limits.list'>(link(`${org.path}/limits`, { customer_id, limit: '200' })),
    api.tryGet<'limits.list'>(link(`${org.path}/limits`, { customer_id: '*', kind: 'customer' })),
    paidForCard(visit, { customer_id }),
  ]);
  const customer = found.data[0];
  if (customer === undefined) {
    throw new ApiFailure(404, 'not_found', 'This customer does not exist.', {});
  }
  const actions = [
    buttonTo(link('/console/usage', { customer_id }), 'View usage'),
    buttonTo(link('/console/runs', { customer_id }), 'View runs'),
    ...newLimitAndPack(visit, customer_id),
  ];
  const models = byDayAndModel instanceof ApiFailure ? [] : costsByModel(byDayAndModel);
  return view({ title: customer_id, actions })`
<div class="stats">${stat('Total spend', usd(customer.cost_usd), `${count(customer.runs)} runs`)}
${statOf(
  `Last ${usageDays} days`,
  byDay,
  ({ total }) => usd(total.cost_usd),
  ({ total }) => `${count(total.runs)} runs`,
)}
${stat('Remaining credits', usd(customer.credits_usd), customer.credits_usd === null ? 'No active credit packs' : 'In active credit packs')}</div>
<div class="grid wide">
${
  byDay instanceof ApiFailure || byDay.data.length === 0
    ? cardOf('Spend per day', byDay, () => html`<p class="quiet">No spend in the last ${usageDays} days.</p>`)
    : panel(spendPerDay(byDay.data, models, { customer_id }))
}
${cardOf('By model', byModel, ({ data }) => modelTable(data, customer_id))}</div>
${paidFor}
${cardOf('Limits and credits', limits, ({ data }) => [
  data.length === 0 ? html`<p class="quiet">No own limits or credits.</p>` : limitTable(data, visit),
  customer.limits.length === 0 && defaultLimit(forAll),
])}
${actionCard(
  'Erase',
  linkButton(visit, {
    path: `${pathOf(customerPath, params)}/erase`,
    label: 'Erase customer',
    tone: 'danger',
  }),
  html`<p>Replaces the customer ID with a random one everywhere, and ends its limits and credit packs. Totals are kept.</p>`,
)}`;
}

function modelTable(rows: readonly UsageItem[], customer_id: string): Markup {
  return table({
    caption: `By model, last ${usageDays} days`,
    rows,
    columns: [
      {
        title: 'Model',
        cell: ({ model }) =>
          html`<a href="${link('/console/usage', { customer_id, model: model ?? undefined, group_by: 'workflow', range: '30d' })}">${model ?? notSet}</a>`,
      },
      { title: 'Runs', isNumber: true, cell: (row) => count(row.runs) },
      { title: 'Cost', isNumber: true, cell: (row) => usd(row.cost_usd) },
    ],
  });
}

function defaultLimit(found: Listed<LimitItem> | ApiFailure): Markup | false {
  const [limit] = found instanceof ApiFailure ? [] : found.data;
  return (
    limit !== undefined &&
    html`<p class="quiet">Uses the <a href="${path`/console/limits/customers/${limit.id}`}">default customer limit</a>: ${usd(limit.limit)}.</p>`
  );
}

async function erasures({ api, org, query, now }: ScreenVisit) {
  const listed = await api.get<'customers.erasures.list'>(
    link(`${org.path}/customer-erasures`, {
      ...filterQuery(query),
      sort: '-requested_at',
    }),
  );
  // An erasure that takes longer waits for the end of a legal hold, or for an operator to fix a failure.
  const autoRefresh = listed.data.some(
    ({ state, requested_at }) =>
      state === 'erasing' && now.getTime() - new Date(requested_at).getTime() < usuallyErasedWithinMs,
  );
  const body = listing({
    listed,
    path: erasuresPath,
    query,
    none: empty('No erased customers', 'Erase a customer on its page.'),
    caption: 'Erased customers',
    columns: [
      { title: 'Requested', cell: (one) => time(one.requested_at, org.timezone) },
      { title: 'Replacement ID', cell: (one) => html`<code>${one.pseudonym}</code>` },
      { title: 'Status', cell: (one) => badge(one.state, one.state === 'erasing' ? 'info' : 'good') },
      { title: 'Rows changed', isNumber: true, cell: (one) => count(one.changed) },
      { title: 'Finished', cell: (one) => time(one.finished_at, org.timezone) },
    ],
  });
  const actions = buttonTo(listPath, 'All customers');
  const intro = 'Listed by replacement ID.';
  return view({ title: 'Erased customers', actions, intro, autoRefresh })`
${card('Erasures', body)}`;
}
