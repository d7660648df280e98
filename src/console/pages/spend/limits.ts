/** Every limit with what is settled, held and left of it; and the way to change those that the org sets itself. */
import { actionButton, badge, card, empty, heading, linkButton, nextPage, table } from '../../components.ts';
import { filterBar, filterQuery } from '../../filters.ts';
import { day, inUnit } from '../../format.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { kindName, limitLink, limitSubtitle, remaining, usageMeter } from '../../limit-names.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import type { LimitView } from '../../views.ts';

const listPath = '/console/limits';

/** The tabs: a kind of limit each, but for the first. */
const tabs = [
  ['', 'All'],
  ['budget', 'Budgets'],
  ['spend_cap', 'Spend cap'],
  ['customer', 'Customers'],
  ['credits', 'Credits'],
  ['prepaid', 'Prepaid'],
  ['plan_runs', 'Plan'],
  ['quota', 'Quotas'],
  ['rate', 'Rates'],
  ['chain_cost', 'Chains'],
] as const;

export const limitScreens: readonly Screen[] = [{ path: listPath, audience: 'org', handler: list }];

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const kind = query.get('kind') ?? '';
  const { data, next_cursor } = await api.get<'limits.list'>(
    link(`${org.path}/limits`, { ...filterQuery(query), limit: '100' }),
  );
  const body = html`${heading('Limits', actions(visit), 'What the org may spend, and where each limit stands now. A limit is never exceeded by an admission, however many calls come at once.')}
<nav class="tabs" aria-label="Kinds of limits">${tabs.map(([name, title]) => html`<a href="${link(listPath, { kind: name })}"${name === kind && html` aria-current="page"`}>${title}</a>`)}</nav>
${filterBar(listPath, [], query, ['kind'])}${card(kind === '' ? 'All limits' : kindName(kind), data.length === 0 ? nothing(kind, visit) : html`${limitTable(data, org.timezone)}${nextPage(listPath, query, next_cursor)}`)}
<p class="legend-line quiet">Bars show what is <span class="key settled">settled</span>, what is <span class="key held">held</span> for calls that go on, and what is left. <a href="/console/limits/holds">Open holds</a></p>`;
  return view('Limits', body);
}

function actions(visit: ScreenVisit): Part {
  return [
    linkButton(visit, { path: `${listPath}/budgets/new`, label: 'New budget', tone: 'primary' }),
    linkButton(visit, { path: `${listPath}/spend-cap`, label: 'Spend cap' }),
    linkButton(visit, { path: `${listPath}/customers/new`, label: 'New customer limit' }),
    linkButton(visit, { path: `${listPath}/credits/new`, label: 'New credit pack' }),
    linkButton(visit, { path: `${listPath}/chain`, label: 'Chain budget' }),
    actionButton(visit, { path: `${listPath}/check-the-books`, label: 'Check the books' }),
  ];
}

function nothing(kind: string, visit: ScreenVisit): Markup {
  const button = (target: string, label: string) =>
    linkButton(visit, { path: `${listPath}/${target}`, label, tone: 'primary' });
  switch (kind) {
    case 'prepaid':
    case 'plan_runs':
    case 'quota':
    case 'rate':
      return empty('None is set', 'These are set by the operator of this deployment.');
    case 'credits':
      return empty(
        'No credit packs',
        'A pack lets an end customer spend what it has bought, and no more.',
        button('credits/new', 'New credit pack'),
      );
    case 'customer':
      return empty(
        'No customer limits',
        html`Limit one end customer, or with <code>*</code> each that has no limit of its own.`,
        button('customers/new', 'New customer limit'),
      );
    case 'spend_cap':
      return empty(
        'No spend cap',
        'The cap is what all runs of a day may cost together.',
        button('spend-cap', 'Set a cap'),
      );
    case 'chain_cost':
      return empty(
        'No chain budget',
        'It keeps one chain of runs from going on without end.',
        button('chain', 'Set a chain budget'),
      );
    default:
      return empty(
        'Nothing holds the spend yet',
        'Begin with a daily spend cap for everything, then budgets for parts.',
        html`${button('spend-cap', 'Set a cap')} ${button('budgets/new', 'Make a budget')}`,
      );
  }
}

export function limitTable(limits: readonly LimitView[], timezone: string): Markup {
  return table({
    caption: 'Limits',
    rows: limits,
    columns: [
      {
        title: 'Limit',
        cell: (limit) => html`${limitLink(limit)}<span class="sub">${limitSubtitle(limit)}</span>`,
      },
      {
        title: 'Standing',
        cell: (limit) =>
          limit.standing === null
            ? html`<span class="quiet">${limit.kind === 'rate' ? 'A rate: counted as calls come' : 'Each by itself'}</span>`
            : usageMeter(limit, limit.standing),
      },
      { title: 'Settled', isNumber: true, cell: (limit) => amount(limit, limit.standing?.settled) },
      { title: 'Held', isNumber: true, cell: (limit) => amount(limit, limit.standing?.held) },
      {
        title: 'Left',
        isNumber: true,
        cell: (limit) => (limit.standing === null ? '–' : remaining(limit, limit.standing)),
      },
      { title: 'Limit', isNumber: true, cell: (limit) => inUnit(limit.unit, limit.limit) },
      { title: 'Until', cell: (limit) => html`<span class="nowrap">${until(limit, timezone)}</span>` },
      {
        title: 'If exceeded',
        cell: (limit) => (limit.enforcement === 'block' ? badge('refuses', 'info') : badge('tells', 'plain')),
      },
    ],
  });
}

function amount(limit: LimitView, value: string | number | undefined): Part {
  return value === undefined ? '–' : inUnit(limit.unit, value);
}

function until({ standing, expires_at }: LimitView, timezone: string): Part {
  return day(expires_at ?? standing?.window_end, timezone);
}
