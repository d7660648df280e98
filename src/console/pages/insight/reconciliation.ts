/** Whether the books agree: everything that was posted, recomputed and compared at one moment. */
import type { Responses } from '../../../contract/views/responses.ts';
import { badge, card, definitionList, heading, panel, table } from '../../components.ts';
import { actionScreen } from '../../form-screens.ts';
import { count, exactUsd, inUnit, time } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { kindName } from '../../limit-names.ts';
import { type Screen, view } from '../../screen.ts';

const back = '/console/limits';

type ReconciliationView = Responses['ledger.reconciliation'];
type CounterView = ReconciliationView['counters'][number];

type Sums = Readonly<Record<string, string>>;

const totalNames: Readonly<Record<string, string>> = {
  cost_usd: 'Cost',
  tokens: 'Tokens',
  runs: 'Runs',
  uncovered_usd: 'Not covered by credits',
  credits_usd: 'Credits burned',
  prepaid_usd: 'Prepaid used',
};
const sources = ['entries', 'runs', 'usage', 'tallies'];

export const bookScreens: readonly Screen[] = [
  actionScreen<'ledger.reconciliation'>({
    path: '/console/limits/check-the-books',
    call: 'GET {org}/ledger/reconciliation',
    done: 'saved',
    back,
    longWork: 'The books',
    show: async ({ org }, found) => view('The books', reconciled(found, org.timezone)),
  }),
];

function reconciled(found: ReconciliationView, timezone: string): Markup {
  return html`${heading('The books', html`<a class="button" href="${back}">Back to the limits</a>`, 'The ledger, the runs, the sums of usage and every counter, recomputed and compared at one moment.')}
${panel(html`<p>${found.balanced ? badge('Everything agrees', 'good') : badge('Something differs', 'bad')}</p>
${definitionList([
  ['Difference in money', exactUsd(found.drift_usd)],
  ['Counters compared', count(found.counters_checked)],
  ['Checked', time(found.checked_at, timezone)],
])}`)}
${card('Sums', totals(found.totals))}
${card('Counters', counters(found.counters, timezone))}`;
}

function totals(found: ReconciliationView['totals']): Markup {
  return table({
    caption: 'Sums by where they are kept',
    rows: Object.entries(found),
    columns: [
      {
        title: 'What',
        cell: ([name, sums]) =>
          html`${totalNames[name] ?? name}${new Set(Object.values(sums)).size > 1 && html` ${badge('differs', 'bad')}`}`,
      },
      ...sources.map((source) => ({
        title: `By ${source}`,
        isNumber: true as const,
        cell: ([name, sums]: [string, Sums]): Part =>
          name.endsWith('_usd') ? exactUsd(sums[source]) : count(sums[source]),
      })),
    ],
  });
}

function counters(found: readonly CounterView[], timezone: string): Part {
  if (found.length === 0) {
    return html`<p class="quiet">No limit has counted anything yet.</p>`;
  }
  const amount = ({ unit }: CounterView, value: string | number | null) =>
    value === null ? '–' : inUnit(unit, value);
  return table({
    caption: 'Counters, those that differ first',
    rows: found,
    columns: [
      {
        title: 'Limit',
        cell: (one) => html`${kindName(one.kind)}<span class="sub"><code>${one.limit_id}</code></span>`,
      },
      { title: 'Window from', cell: (one) => time(one.window_start, timezone) },
      { title: 'Settled', isNumber: true, cell: (one) => amount(one, one.settled) },
      { title: 'by entries', isNumber: true, cell: (one) => amount(one, one.settled_by_entries) },
      { title: 'Held', isNumber: true, cell: (one) => amount(one, one.held) },
      { title: 'by holds', isNumber: true, cell: (one) => amount(one, one.held_by_holds) },
      {
        title: 'Differs by',
        isNumber: true,
        cell: (one) => (Number(one.drift) === 0 ? '–' : badge(amount(one, one.drift), 'bad')),
      },
    ],
  });
}
