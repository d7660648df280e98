/** Requests for temporary raises of limits: the form that asks, and the list in which administrators approve or deny. */
import { ApiFailure } from '../../api.ts';
import { linkButton } from '../../buttons.ts';
import { alert, card, empty, nextPage, notice, tabBar } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago, capitalized, time, usd } from '../../format.ts';
import { type Field, instantOf, localTime, type Option } from '../../forms.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, nowrap, subline, type Tone } from '../../inline.ts';
import { kindName, limitName, limitPath } from '../../limit-names.ts';
import { type Actors, actorLink, actorName, actorsById } from '../../names.ts';
import type { Item } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import { isRaisable, tomorrowMorning } from './limit-raises.ts';

const listPath = '/console/raise-requests';
const states = ['pending', 'approved', 'denied', 'lapsed'] as const;

type RequestItem = Item<'raise_requests.list'>;

export const raiseRequestScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: (visit) => list(visit) },
  ...formScreens({
    path: `${listPath}/new`,
    title: 'Ask for more',
    intro: 'Ask an administrator to raise a limit for a while.',
    submit: 'Ask',
    back: listPath,
    fields: requestFields,
    load: async ({ org, now, query }) => ({
      limit_id: query.get('limit_id') ?? '',
      scope_id: query.get('scope_id') ?? '',
      until: tomorrowMorning(now, org.timezone),
    }),
    call: 'POST {org}/raise-requests',
    done: 'requested',
  }),
  decision('approve', 'approved'),
  decision('deny', 'denied'),
];

async function requestFields({ api, org }: ScreenVisit): Promise<readonly Field[]> {
  const limits = await api.tryGet<'limits.list'>(link(`${org.path}/limits`, { limit: '200' }));
  const options: Option[] =
    limits instanceof ApiFailure
      ? []
      : limits.data
          .filter(isRaisable)
          .map((limit) => ({ value: limit.id, label: `${limitName(limit)} (${usd(limit.limit)})` }));
  return [
    { name: 'limit_id', label: 'Limit', kind: 'select', required: true, options },
    {
      name: 'scope_id',
      label: 'For the value',
      kind: 'text',
      help: 'Only for a limit of each value (*): the value to raise, such as your member ID.',
    },
    { name: 'amount_usd', label: 'Raise by', kind: 'money', required: true },
    { name: 'until', label: 'Until', kind: 'instant', required: true, help: 'The raise ends by itself.' },
    { name: 'reason', label: 'Reason', kind: 'text', required: true },
  ];
}

function decision(verb: 'approve' | 'deny', done: 'approved' | 'denied'): Screen {
  return actionScreen({
    path: `${listPath}/{request_id}/${verb}`,
    call: `POST {org}/raise-requests/{request_id}/${verb}`,
    body: ({ form, org }) => bodyOf(form, verb, org.timezone),
    done,
    back: listPath,
    // Keeps the input; a request that was decided in the meantime is no longer in the list.
    showFailure: list,
  });
}

function bodyOf(form: URLSearchParams, verb: 'approve' | 'deny', timezone: string): object {
  const typed = (name: string) => (form.get(name) ?? '').trim();
  const [reason, amount, until] = [typed('reason'), typed('amount_usd'), typed('until')];
  return {
    ...(reason !== '' && { reason }),
    ...(verb === 'approve' && amount !== '' && { amount_usd: amount.replace(/^\$/, '') }),
    ...(verb === 'approve' && until !== '' && { until: instantOf(until, timezone) }),
  };
}

async function list(visit: ScreenVisit, failure?: ApiFailure) {
  const { api, org, query } = visit;
  const state = query.get('state') || 'pending';
  const { data, next_cursor } = await api.get<'raise_requests.list'>(
    link(`${org.path}/raise-requests`, { ...filterQuery(query), state, limit: '50' }),
  );
  const actors = await actorsById(
    api,
    org,
    data.flatMap(({ requested_by, decided_by }) => [requested_by, decided_by]),
  );
  const ask = linkButton(visit, { path: `${listPath}/new`, label: 'Ask for more', tone: 'primary' });
  const body =
    data.length === 0
      ? empty(
          state === 'pending' ? 'Nothing to review' : `No ${state} requests`,
          'People whom a limit blocks can ask to raise it for a while.',
        )
      : [
          state === 'pending'
            ? data.map((one) => request(one, visit, actors))
            : decided(data, org.timezone, actors),
          nextPage(listPath, query, next_cursor),
        ];
  return view({
    title: 'Raise requests',
    actions: ask,
    intro: 'Requests to raise a limit for a while. You cannot approve requests of your own.',
    status: failure?.status,
  })`
${tabBar(
  'Status',
  states.map((name) => [name, capitalized(name)] as const),
  state,
  (name) => link(listPath, { state: name }),
)}
${failure !== undefined && alert(failure.message, failure.fields)}${body}`;
}

function nameOf({ limit_kind, limit_name }: RequestItem): string {
  return limit_name ?? kindName(limit_kind);
}

function request(one: RequestItem, visit: ScreenVisit, actors: Actors): Markup {
  const { now, org, params, form, denied } = visit;
  const { id, limit_id, scope_id, amount_usd, until, reason, requested_by, requested_at } = one;
  const about = `${nameOf(one)} for ${actorName(requested_by, actors)}`;
  const approve = `${listPath}${path`/${id}/approve`}`;
  const denial = denied(approve);
  const typed = (name: string) => (params.request_id === id ? form.get(name) : null);
  return card(
    `${nameOf(one)}: ${usd(amount_usd)} more`,
    html`<p>${reason}</p>
<p class="quiet"><a href="${limitPath({ id: limit_id })}">View limit</a>${scope_id !== null && html` for <code>${scope_id}</code>`}
· ${actorLink(requested_by, actors)} asked ${ago(requested_at, now)} · until ${time(until, org.timezone)}</p>
${
  denial === undefined
    ? html`<form method="post" class="filters" action="${approve}">
<div class="field"><label for="amount-${id}">Raise by ($)</label>
<input type="text" inputmode="decimal" id="amount-${id}" name="amount_usd" value="${typed('amount_usd') ?? amount_usd}"></div>
<div class="field"><label for="until-${id}">Until</label>
<input type="datetime-local" id="until-${id}" name="until" value="${typed('until') ?? localTime(until, org.timezone)}"></div>
<div class="field"><label for="reason-${id}">Reason</label><input type="text" id="reason-${id}" name="reason" value="${typed('reason')}"></div>
<button class="button primary">Approve<span class="hidden"> ${about}</span></button>
<button class="button" formaction="${`${listPath}${path`/${id}/deny`}`}">Deny<span class="hidden"> ${about}</span></button></form>`
    : notice(denial)
}`,
  );
}

const tones: Readonly<Record<string, Tone>> = { approved: 'good', denied: 'bad' };

function decided(requests: readonly RequestItem[], timezone: string, actors: Actors): Part {
  return card(
    'Requests',
    table({
      caption: 'Raise requests',
      rows: requests,
      columns: [
        { title: 'Asked', cell: (one) => nowrap(time(one.requested_at, timezone)) },
        {
          title: 'Limit',
          cell: (one) =>
            html`<a href="${limitPath({ id: one.limit_id })}">${nameOf(one)}</a>${subline(one.scope_id)}`,
        },
        { title: 'Amount', isNumber: true, cell: (one) => usd(one.amount_usd) },
        { title: 'Until', cell: (one) => time(one.until, timezone) },
        {
          title: 'Asked by',
          cell: (one) => html`${actorLink(one.requested_by, actors)}${subline(one.reason)}`,
        },
        { title: 'Status', cell: (one) => badge(one.state, tones[one.state] ?? 'plain') },
        {
          title: 'Decided by',
          cell: (one) =>
            html`${one.decided_by !== null && actorLink(one.decided_by, actors)}${subline(one.decision_reason)}`,
        },
      ],
    }),
  );
}
