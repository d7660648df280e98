/** Reconciliation of the ledger: all postings recomputed and compared at one instant. */
import { buttonTo } from '../../buttons.ts';
import { card, definitionList, panel } from '../../components.ts';
import { actionScreen } from '../../form-screens.ts';
import { count, exactUsd, inUnit, time } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge } from '../../inline.ts';
import { kindName } from '../../limit-names.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type View, view } from '../../screen.ts';
import { table } from '../../table.ts';

const back = '/console/limits';

type ReconciliationResponse = Responses['ledger.reconciliation'];
type CounterView = ReconciliationResponse['counters'][number];

type Sums = Readonly<Record<string, string>>;

const totalNames: Readonly<Record<string, string>> = {
  cost_usd: 'Cost',
  tokens: 'Tokens',
  runs: 'Runs',
  uncovered_usd: 'Not covered by credits',
  credits_usd: 'Credits used',
  prepaid_usd: 'Prepaid used',
};
const sources = ['entries', 'runs', 'usage', 'tallies'] as const;
const sourceNames = { entries: 'Ledger', runs: 'Runs', usage: 'Usage', tallies: 'Counters' } as const;

export const reconciliationScreens: readonly Screen[] = [
  actionScreen<'ledger.reconciliation'>({
    path: '/console/limits/reconcile',
    call: 'GET {org}/ledger/reconciliation',
    done: 'saved',
    back,
    longWork: 'Reconciliation',
    show: async ({ org }, found) => reconciled(found, org.timezone),
  }),
];

function reconciled(found: ReconciliationResponse, timezone: string): View {
  const intro = 'Recomputes ledger, runs, usage and counters at one instant and compares them.';
  return view({ title: 'Reconciliation', actions: buttonTo(back, 'Back to limits'), intro })`
${panel(html`<p>${found.balanced ? badge('All balanced', 'good') : badge('Not balanced', 'bad')}</p>
${definitionList([
  ['Difference', exactUsd(found.drift_usd)],
  ['Counters compared', count(found.counters_checked)],
  ['Checked', time(found.checked_at, timezone)],
])}`)}
${card('Totals', totals(found.totals))}
${card('Counters', counters(found.counters, timezone))}`;
}

function totals(found: ReconciliationResponse['totals']): Markup {
  return table({
    caption: 'Totals by source',
    rows: Object.entries(found),
    columns: [
      {
        title: 'Total',
        cell: ([name, sums]) =>
          html`${totalNames[name] ?? name}${new Set(Object.values(sums)).size > 1 && html` ${badge('differs', 'bad')}`}`,
      },
      ...sources.map((source) => ({
        title: sourceNames[source],
        isNumber: true as const,
        cell: ([name, sums]: [string, Sums]): Part =>
          name.endsWith('_usd') ? exactUsd(sums[source]) : count(sums[source]),
      })),
    ],
  });
}

function counters(found: readonly CounterView[], timezone: string): Part {
  if (found.length === 0) {
    return html`<p class="quiet">No counters yet.</p>`;
  }
  const amount = ({ unit }: CounterView, value: string | number | null) =>
    value === null ? '–' : inUnit(unit, value);
  return table({
    caption: 'Counters, differences first',
    rows: found,
    columns: [
      {
        title: 'Limit',
        cell: (one) => html`${kindName(one.kind)}<span class="sub"><code>${one.limit_id}</code></span>`,
      },
      { title: 'Period start', cell: (one) => time(one.window_start, timezone) },
      { title: 'Spent', isNumber: true, cell: (one) => amount(one, one.settled) },
      { title: 'Spent by postings', isNumber: true, cell: (one) => amount(one, one.settled_by_entries) },
      { title: 'Reserved', isNumber: true, cell: (one) => amount(one, one.held) },
      { title: 'Reserved by calls', isNumber: true, cell: (one) => amount(one, one.held_by_holds) },
      { title: 'Kept free', isNumber: true, cell: (one) => amount(one, one.growth) },
      { title: 'Kept free by calls', isNumber: true, cell: (one) => amount(one, one.growth_by_holds) },
      {
        title: 'Difference',
        isNumber: true,
        cell: (one) => (Number(one.drift) === 0 ? '–' : badge(amount(one, one.drift), 'bad')),
      },
    ],
  });
}
