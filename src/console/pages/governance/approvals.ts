/** Requests that a rule requires approval for. */
import type { ApiFailure } from '../../api.ts';
import { buttonTo } from '../../buttons.ts';
import { alert, card, empty, nextPage, notice, tabBar } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen } from '../../form-screens.ts';
import { ago, capitalized, time } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, nowrap, subline, type Tone } from '../../inline.ts';
import { type Actors, actorLink, actorName, actorsById } from '../../names.ts';
import type { Item } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

const listPath = '/console/approvals';
const states = ['pending', 'approved', 'used', 'denied', 'expired'] as const;

type ApprovalItem = Item<'approvals.list'>;

export const approvalScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: (visit) => list(visit) },
  decision('approve', 'approved'),
  decision('deny', 'denied'),
];

function decision(verb: 'approve' | 'deny', done: 'approved' | 'denied'): Screen {
  return actionScreen({
    path: `${listPath}/{approval_id}/${verb}`,
    call: `POST {org}/approvals/{approval_id}/${verb}`,
    body: ({ form }) => bodyOf(form, verb),
    done,
    back: listPath,
    // Keeps the input; a request that was decided in the meantime is no longer in the list.
    showFailure: list,
  });
}

function bodyOf(form: URLSearchParams, verb: 'approve' | 'deny'): object {
  const reason = (form.get('reason') ?? '').trim();
  const uses = (form.get('uses') ?? '').trim();
  return {
    ...(reason !== '' && { reason }),
    // Invalid numbers stay text, so that the API reports them.
    ...(verb === 'approve' && uses !== '' && { uses: /^\d+$/.test(uses) ? Number(uses) : uses }),
  };
}

async function list(visit: ScreenVisit, failure?: ApiFailure) {
  const { api, org, query } = visit;
  const state = query.get('state') || 'pending';
  const { data, next_cursor } = await api.get<'approvals.list'>(
    link(`${org.path}/approvals`, {
      ...filterQuery(query),
      state,
      sort: '-requested_at',
      limit: '50',
    }),
  );
  const actors = await actorsById(
    api,
    org,
    data.flatMap(({ key_id, decided_by }) => [key_id, decided_by]),
  );
  const body =
    data.length === 0
      ? empty(
          state === 'pending' ? 'Nothing to review' : `No ${state} requests`,
          'Requests that need approval by a rule appear here.',
          buttonTo('/console/policies', 'View policies'),
        )
      : [
          state === 'pending'
            ? data.map((one) => request(one, visit, actors))
            : decided(data, org.timezone, actors),
          nextPage(listPath, query, next_cursor),
        ];
  const tabs = states.map((name) => [name, capitalized(name)] as const);
  return view({
    title: 'Approvals',
    intro: 'Requests that need a decision. You cannot approve requests from your own API key.',
    status: failure?.status,
  })`
${tabBar('Status', tabs, state, (name) => link(listPath, { state: name }))}
${failure !== undefined && alert(failure.message, failure.fields)}${body}`;
}

function request(approval: ApprovalItem, { now, params, form, denied }: ScreenVisit, actors: Actors): Markup {
  const { id, attempted, model, action, key_id, requested_at, expires_at, reason, rule_id } = approval;
  const about = `${attempted} for ${actorName(key_id, actors)}`;
  const approve = path`/console/approvals/${id}/approve`;
  const denial = denied(approve);
  const typed = (name: string) => (params.approval_id === id ? form.get(name) : null);
  return card(
    attempted,
    html`<p>${reason} <a href="${path`/console/policies/${rule_id}`}">View rule</a></p>
<p class="quiet">${actorLink(key_id, actors)} requested ${action !== null && html`<code>${action}</code> on `}<code>${model}</code>
${ago(requested_at, now)} · expires ${ago(expires_at, now)}</p>
${
  denial === undefined
    ? html`<form method="post" class="filters" action="${approve}">
<div class="field"><label for="uses-${id}">Valid for (runs)</label>
<input type="text" inputmode="numeric" id="uses-${id}" name="uses" value="${typed('uses') ?? '1'}"></div>
<div class="field"><label for="reason-${id}">Reason</label><input type="text" id="reason-${id}" name="reason" value="${typed('reason')}"></div>
<button class="button primary">Approve<span class="hidden"> ${about}</span></button>
<button class="button" formaction="${path`/console/approvals/${id}/deny`}">Deny<span class="hidden"> ${about}</span></button></form>`
    : notice(denial)
}`,
  );
}

const tones: Readonly<Record<string, Tone>> = {
  approved: 'good',
  used: 'good',
  denied: 'bad',
  expired: 'plain',
};

function decided(approvals: readonly ApprovalItem[], timezone: string, actors: Actors): Part {
  return card(
    'Decided requests',
    table({
      caption: 'Approvals',
      rows: approvals,
      columns: [
        { title: 'Requested', cell: (one) => nowrap(time(one.requested_at, timezone)) },
        { title: 'Request', cell: (one) => html`${one.attempted}${subline(one.reason)}` },
        { title: 'API key', cell: (one) => actorLink(one.key_id, actors) },
        { title: 'Status', cell: (one) => badge(one.state, tones[one.state] ?? 'plain') },
        { title: 'Uses', isNumber: true, cell: (one) => `${one.uses_made} of ${one.uses ?? 'unlimited'}` },
        {
          title: 'Decided by',
          cell: (one) =>
            html`${one.decided_by !== null && actorLink(one.decided_by, actors)}${subline(one.decision_reason)}`,
        },
      ],
    }),
  );
}
