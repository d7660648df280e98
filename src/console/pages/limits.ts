/** Every limit with what is settled, held and left of it; and the way to change those that the org sets itself. */
import type { Listed } from '../api.ts';
import { actionButton, badge, card, empty, heading, nextPage, table } from '../components.ts';
import { day, inUnit } from '../format.ts';
import { type Html, html, link, type Part, path } from '../html.ts';
import { kindName, limitName, remaining, scopeName, standingMeter } from '../limit-names.ts';
import { type Screen, type ScreenVisit, view } from '../screen.ts';
import type { LimitView } from '../views.ts';

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

async function list({ api, org, query }: ScreenVisit) {
  const kind = tabs.find(([name]) => name === query.get('kind'))?.[0] ?? '';
  const cursor = query.get('cursor') ?? undefined;
  const { data, next_cursor } = await api.get<Listed<LimitView>>(
    link(`${org.path}/limits`, { kind, cursor, limit: '100' }),
  );
  const body = html`${heading('Limits', actions, 'What the org may spend, and where each limit stands now. A limit is never exceeded by an admission, however many calls come at once.')}
<nav class="tabs" aria-label="Kinds of limits">${tabs.map(([name, title]) => html`<a href="${link(listPath, { kind: name })}"${name === kind && html` aria-current="page"`}>${title}</a>`)}</nav>
${card(kind === '' ? 'All limits' : kindName(kind), data.length === 0 ? nothing(kind) : html`${limitTable(data, org.timezone)}${nextPage(listPath, query, next_cursor)}`)}
<p class="legend-line quiet">Bars show what is <span class="key settled">settled</span>, what is <span class="key held">held</span> for calls that go on, and what is left. <a href="/console/limits/holds">Open holds</a></p>`;
  return view('Limits', body);
}

const actions = html`<a class="button primary" href="/console/limits/budgets/new">New budget</a>
<a class="button" href="/console/limits/spend-cap">Spend cap</a>
<a class="button" href="/console/limits/customers/new">New customer limit</a>
<a class="button" href="/console/limits/credits/new">New credit pack</a>
<a class="button" href="/console/limits/chain">Chain budget</a>
${actionButton({ path: '/console/limits/check-the-books', label: 'Check the books' })}`;

function nothing(kind: string): Html {
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

function button(target: string, label: string): Html {
  return html`<a class="button primary" href="${listPath}/${target}">${label}</a>`;
}

export function limitTable(limits: readonly LimitView[], timezone: string): Html {
  return table({
    caption: 'Limits',
    rows: limits,
    columns: [
      {
        title: 'Limit',
        cell: (limit) => html`${nameLink(limit)}<span class="sub">${subtitle(limit)}</span>`,
      },
      {
        title: 'Standing',
        cell: (limit) =>
          limit.standing === null
            ? html`<span class="quiet">${limit.kind === 'rate' ? 'A rate: counted as calls come' : 'Each by itself'}</span>`
            : standingMeter(limit, limit.standing),
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

/** What its name does not say already. */
function subtitle(limit: LimitView): string {
  const name = limitName(limit);
  return [kindName(limit.kind), scopeName(limit.match)]
    .filter((part) => part !== '' && !name.toLowerCase().includes(part.toLowerCase()))
    .join(' · ');
}

function amount(limit: LimitView, value: string | number | undefined): Part {
  return value === undefined ? '–' : inUnit(limit.unit, value);
}

function until({ standing, expires_at }: LimitView, timezone: string): Part {
  return day(expires_at ?? standing?.window_end, timezone);
}

/** Where those lead that the org sets itself; the others are the operator's. */
function nameLink(limit: LimitView): Part {
  const target = editPath(limit);
  return target === undefined
    ? html`<strong>${limitName(limit)}</strong>`
    : html`<a href="${target}">${limitName(limit)}</a>`;
}

function editPath({ kind, id }: LimitView): string | undefined {
  switch (kind) {
    case 'budget':
      return path`/console/limits/budgets/${id}`;
    case 'customer':
      return path`/console/limits/customers/${id}`;
    case 'credits':
      return path`/console/limits/credits/${id}`;
    case 'spend_cap':
      return '/console/limits/spend-cap';
    case 'chain_cost':
    case 'chain_depth':
    case 'chain_tokens':
      return '/console/limits/chain';
    default:
      return undefined;
  }
}
