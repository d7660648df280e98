/** For operators: price changes that wait for a decision, and those that were decided. */
import type { ApiFailure } from '../../api.ts';
import { buttonTo } from '../../buttons.ts';
import { alert, card, empty, nextPage, notice, tabBar } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen } from '../../form-screens.ts';
import { ago, capitalized, exactUsd, time } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, nowrap, subline, type Tone } from '../../inline.ts';
import type { Item } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

const listPath = '/console/prices/changes';
const statuses = ['pending', 'approved', 'rejected', 'superseded'] as const;

type ChangeView = Item<'price_changes.list'>;

export const operatorPriceChangeScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: (visit) => list(visit) },
  decision('approve', 'approved'),
  decision('reject', 'rejected'),
];

function decision(verb: 'approve' | 'reject', done: 'approved' | 'rejected'): Screen {
  return actionScreen({
    path: `${listPath}/{change_id}/${verb}`,
    audience: 'operator',
    call: `POST /v1/admin/price-changes/{change_id}/${verb}`,
    body({ form }) {
      const reason = (form.get('reason') ?? '').trim();
      return reason === '' ? {} : { reason };
    },
    done,
    back: listPath,
    // A change that was decided in the meantime is no longer in the list.
    showFailure: list,
  });
}

async function list(visit: ScreenVisit, failure?: ApiFailure) {
  const { api, query } = visit;
  const status = query.get('status') || 'pending';
  const { data, next_cursor } = await api.get<'price_changes.list'>(
    link('/v1/admin/price-changes', { ...filterQuery(query), status, sort: '-created_at', limit: '50' }),
  );
  const body =
    data.length === 0
      ? empty(
          status === 'pending' ? 'No pending price changes' : `No ${status} price changes`,
          'Changes of more than 50 % in a price update appear here.',
          buttonTo('/console/prices', 'View prices'),
        )
      : [
          status === 'pending' ? data.map((one) => pending(one, visit)) : decided(data),
          nextPage(listPath, query, next_cursor),
        ];
  const intro = 'Large changes in price updates. The current price applies until you approve a change.';
  const tabs = statuses.map((name) => [name, capitalized(name)] as const);
  return view({
    title: 'Price changes',
    actions: buttonTo('/console/prices', 'Back to prices'),
    intro,
    status: failure?.status,
  })`
${tabBar('Status', tabs, status, (name) => link(listPath, { status: name }))}
${failure !== undefined && alert(failure.message, failure.fields)}${body}`;
}

function pending(change: ChangeView, { now, params, form, denied }: ScreenVisit): Markup {
  const { id, model, priced_as, source, created_at, effective_from } = change;
  const approve = path`/console/prices/changes/${id}/approve`;
  const denial = denied(approve);
  const typed = params.change_id === id ? form.get('reason') : null;
  return card(
    model,
    html`${priced_as !== null && html`<p>The name is priced as <code>${priced_as}</code> now, and would get a price of its own.</p>`}
${rates(change)}
<p class="quiet">${source}, proposed ${ago(created_at, now)}.
${effective_from !== null && html`Takes effect ${time(effective_from, 'UTC')}, or when you approve it if that is later.`}
<a href="${path`/console/prices/${priced_as ?? model}/versions`}">Version history</a></p>
${
  denial === undefined
    ? html`<form method="post" class="filters" action="${approve}">
<div class="field"><label for="reason-${id}">Reason</label><input type="text" id="reason-${id}" name="reason" value="${typed}"></div>
<button class="button primary">Approve<span class="hidden"> ${model}</span></button>
<button class="button" formaction="${path`/console/prices/changes/${id}/reject`}">Reject<span class="hidden"> ${model}</span></button></form>`
    : notice(denial)
}`,
  );
}

function rates({ model, rates: rows }: ChangeView): Part {
  return table({
    caption: `Changed rates of ${model}`,
    rows,
    columns: [
      { title: 'Rate', cell: (one) => html`<code>${one.rate}</code>` },
      { title: 'Current', isNumber: true, cell: (one) => amountText(one.rate, one.before) },
      { title: 'New', isNumber: true, cell: (one) => amountText(one.rate, one.after) },
      { title: 'Change', isNumber: true, cell: (one) => percentText(one.change_percent) },
    ],
  });
}

/** A factor of all rates is the only amount that is not money. */
function amountText(rate: string, amount: string | null): string {
  return /^modifiers\[.*\]\.multiplier$/.test(rate) ? (amount ?? '–') : exactUsd(amount);
}

function percentText(percent: number | null): string {
  return percent === null ? '–' : `${percent > 0 ? '+' : ''}${percent}%`;
}

const tones: Readonly<Record<string, Tone>> = { approved: 'good', rejected: 'bad' };

function decided(changes: readonly ChangeView[]): Part {
  return card(
    'Decided changes',
    table({
      caption: 'Price changes',
      rows: changes,
      columns: [
        { title: 'Proposed', cell: (one) => nowrap(time(one.created_at, 'UTC')) },
        { title: 'Model', cell: (one) => html`${one.model}${subline(one.source)}` },
        { title: 'Status', cell: (one) => badge(one.status, tones[one.status] ?? 'plain') },
        {
          title: 'Decided by',
          cell: (one) =>
            html`${one.decided_by !== null && html`<code>${one.decided_by}</code>`}${subline(one.decision_reason)}`,
        },
      ],
    }),
  );
}
