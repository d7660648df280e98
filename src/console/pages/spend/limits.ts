/** All limits with their usage, and links to the forms of those that the organization sets. */
import { actionButton, type ButtonVisitor, buttonTo, linkButton } from '../../buttons.ts';
import { card, empty, nextPage, tabBar } from '../../components.ts';
import { spendPerValueLink } from '../../drill-down.ts';
import { type Filter, filterBar, filterQuery, isFiltered } from '../../filters.ts';
import { day, inUnit } from '../../format.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { badge, nowrap, subline } from '../../inline.ts';
import {
  fieldName,
  kindName,
  limitEditPath,
  limitLink,
  limitName,
  limitSubtitle,
  remaining,
  scopeKindOptions,
  stateBadge,
  usageMeter,
} from '../../limit-names.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import type { LimitItem } from '../../views.ts';

const listPath = '/console/limits';

/** Kind and title of each tab. Kinds without a tab, such as `plan_tokens`, are only under “All”. */
const tabs = [
  ['', 'All'],
  ['budget', 'Budgets'],
  ['spend_cap', 'Spend cap'],
  ['customer', 'Customers'],
  ['credits', 'Credits'],
  ['prepaid', 'Prepaid'],
  ['plan_runs', 'Plan'],
  ['quota', 'Quotas'],
  ['rate', 'Rate limits'],
  ['chain_cost', 'Chains'],
] as const;

const filters: readonly Filter[] = [
  { name: 'search', label: 'Name, scope or owner', type: 'search' },
  {
    name: 'scope_kind',
    label: 'Applies to',
    options: [...scopeKindOptions, { value: 'customer', label: 'Customer' }],
  },
  {
    name: 'state',
    label: 'State',
    options: [
      { value: 'near', label: 'Near limit' },
      { value: 'exhausted', label: 'Exhausted or over' },
      { value: 'ok', label: 'Below 80%' },
    ],
  },
];
/** Query parameters of the page that are not in the filter bar. */
const own = ['kind'];

export const limitScreens: readonly Screen[] = [{ path: listPath, audience: 'org', handler: list }];

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const kind = query.get('kind') ?? '';
  const { data, next_cursor } = await api.get<'limits.list'>(
    link(`${org.path}/limits`, { ...filterQuery(query), limit: '100' }),
  );
  // The tabs keep the filters.
  const others = Object.fromEntries(filters.map(({ name }) => [name, query.get(name) ?? undefined]));
  const none =
    next_cursor === null
      ? emptyState(kind, visit)
      : html`<p class="quiet">None among the limits examined so far.</p>`;
  const intro = 'Spending limits and current usage. Limits hold even under concurrent requests.';
  return view({ title: 'Limits', actions: actions(visit), intro })`
${tabBar('Kind of limit', tabs, kind, (name) => link(listPath, { ...others, kind: name }))}
${filterBar(listPath, filters, query, own, own)}
${card(kind === '' ? 'All limits' : kindName(kind), [
  data.length > 0 ? limitTable(data, visit, visit) : none,
  nextPage(listPath, query, next_cursor),
])}
<p class="legend-line quiet"><span class="key settled">Spent</span>, <span class="key held">reserved</span> for calls in progress,
and remaining. <a href="/console/limits/holds">Open reservations</a></p>`;
}

function actions(visit: ScreenVisit): Part {
  return [
    linkButton(visit, { path: `${listPath}/budgets/new`, label: 'Create budget', tone: 'primary' }),
    linkButton(visit, { path: `${listPath}/spend-cap`, label: 'Set spend cap' }),
    linkButton(visit, { path: `${listPath}/customers/new`, label: 'Create customer limit' }),
    linkButton(visit, { path: `${listPath}/credits/new`, label: 'Create credit pack' }),
    linkButton(visit, { path: `${listPath}/chain`, label: 'Set chain limit' }),
    actionButton(visit, { path: `${listPath}/reconcile`, label: 'Reconcile' }),
  ];
}

function emptyState(kind: string, visit: ScreenVisit): Markup {
  if (isFiltered(visit.query, own)) {
    return empty('No matches', 'Try removing a filter.', buttonTo(link(listPath, { kind }), 'Clear filters'));
  }
  const button = (target: string, label: string) =>
    linkButton(visit, { path: `${listPath}/${target}`, label, tone: 'primary' });
  switch (kind) {
    case 'prepaid':
    case 'plan_runs':
    case 'quota':
    case 'rate':
      return empty('None set', 'Managed by your operator.');
    case 'credits':
      return empty(
        'No credit packs yet',
        'Customers with credit packs can spend only their credits.',
        button('credits/new', 'Create credit pack'),
      );
    case 'customer':
      return empty(
        'No customer limits yet',
        html`Limit one customer, or all other customers with <code>*</code>.`,
        button('customers/new', 'Create customer limit'),
      );
    case 'spend_cap':
      return empty(
        'No spend cap',
        'The cap limits the total cost of all runs per day.',
        button('spend-cap', 'Set spend cap'),
      );
    case 'chain_cost':
      return empty(
        'No chain limit',
        'Chain limits stop runaway agent loops.',
        button('chain', 'Set chain limit'),
      );
    default:
      return empty(
        'No limits yet',
        'Start with a daily spend cap, then add budgets.',
        html`${button('spend-cap', 'Set spend cap')} ${button('budgets/new', 'Create budget')}`,
      );
  }
}

/** `visitor`: adds links to the forms that they may use. */
export function limitTable(
  limits: readonly LimitItem[],
  visit: Pick<ScreenVisit, 'org' | 'now'>,
  visitor?: ButtonVisitor,
): Markup {
  return table({
    caption: 'Limits',
    rows: limits,
    columns: [
      {
        title: 'Limit',
        cell: (limit) => html`${limitLink(limit)} ${stateBadge(limit)}${subline(limitSubtitle(limit))}`,
      },
      {
        title: 'Usage',
        cell: (limit) =>
          limit.standing === null
            ? html`<span class="quiet">${limit.kind === 'rate' && limit.unit !== 'concurrent' ? 'Rolling rate' : countedSeparately(limit, visit)}</span>`
            : usageMeter(limit, limit.standing),
      },
      { title: 'Spent', isNumber: true, cell: (limit) => amount(limit, limit.standing?.settled) },
      { title: 'Reserved', isNumber: true, cell: (limit) => amount(limit, limit.standing?.held) },
      {
        title: 'Remaining',
        isNumber: true,
        cell: (limit) => (limit.standing === null ? '–' : remaining(limit, limit.standing)),
      },
      { title: 'Limit', isNumber: true, cell: (limit) => inUnit(limit.unit, limit.limit) },
      { title: 'Resets', cell: (limit) => nowrap(resetsOn(limit, visit.org.timezone)) },
      {
        title: 'When exceeded',
        cell: (limit) =>
          limit.enforcement === 'block' ? badge('block', 'info') : badge('alert only', 'plain'),
      },
      ...(visitor === undefined
        ? []
        : [{ title: '', cell: (limit: LimitItem) => editButton(limit, visitor) }]),
    ],
  });
}

function editButton(limit: LimitItem, visitor: ButtonVisitor): Part {
  const edit = limitEditPath(limit);
  return edit !== undefined && linkButton(visitor, { path: edit, label: 'Edit', about: limitName(limit) });
}

/** Returns the link from a budget for each value to the spend of these values. */
function countedSeparately(limit: LimitItem, visit: Pick<ScreenVisit, 'org' | 'now'>): Part {
  const { kind, match } = limit;
  const field = Object.keys(match).find((name) => match[name] === '*') ?? '';
  const href = kind === 'budget' ? spendPerValueLink(field, limit, visit) : undefined;
  return href === undefined
    ? 'Counted separately'
    : html`<a href="${href}">Spend per ${fieldName(field)}</a>`;
}

function amount(limit: LimitItem, value: string | number | undefined): Part {
  return value === undefined ? '–' : inUnit(limit.unit, value);
}

function resetsOn({ standing, expires_at }: LimitItem, timezone: string): Part {
  return expires_at === null
    ? day(standing?.window_end, timezone)
    : html`expires ${day(expires_at, timezone)}`;
}
