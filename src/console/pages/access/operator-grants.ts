/** For operators: support grants, which allow access to an organization. */
import { ApiFailure } from '../../api.ts';
import { actionButton, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card, empty, secretBox } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { time } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, codeList, nowrap } from '../../inline.ts';
import { hiddenInputs } from '../../inputs.ts';
import { listing } from '../../listing.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, seeOther, type View, view } from '../../screen.ts';
import type { Column } from '../../table.ts';
import { grantableScopes } from './operator-scopes.ts';
import { type GrantItem, grantTones } from './settings-support.ts';

const listPath = '/console/grants';
/** Sign-in path of support sessions. */
const entryPath = '/console/support';
const hourMs = 3_600_000;

const filters: readonly Filter[] = [
  { name: 'org_id', label: 'Organization ID' },
  {
    name: 'status',
    label: 'Status',
    options: ['pending', 'active', 'denied', 'expired', 'revoked'].map((value) => ({ value, label: value })),
  },
];

export const operatorGrantScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: list },
  ...formScreens<'support.grants.create'>({
    path: `${listPath}/new`,
    audience: 'operator',
    title: 'Request access',
    intro: 'The organization sees the grant, your reason and every request. It may require approval first.',
    submit: 'Request access',
    back: listPath,
    fields: () => [
      { name: 'org_id', label: 'Organization ID', kind: 'text', required: true },
      { name: 'reason', label: 'Reason', kind: 'text', required: true, placeholder: 'Ticket 4711: …' },
      { name: 'scope', label: 'Permissions', kind: 'checkboxes', options: grantableScopes },
      {
        name: 'hours',
        label: 'Duration',
        kind: 'select',
        required: true,
        options: ['1', '2', '4', '8'].map((value) => ({ value, label: `${value} h` })),
      },
    ],
    call: 'POST /v1/admin/support/grants',
    body: ({ hours, ...body }, { now }) => ({
      ...body,
      expires_at: new Date(now.getTime() + Number(hours) * hourMs).toISOString(),
    }),
    show: async (_visit, { org_id }) => seeOther(link(path`/console/orgs/${org_id}`, { done: 'grant_made' })),
  }),
  actionScreen<'support.sessions.open'>({
    path: `${listPath}/{grant_id}/open`,
    audience: 'operator',
    call: 'POST /v1/admin/support/grants/{grant_id}/sessions',
    done: 'saved',
    back: listPath,
    show: async (_visit, session) => opened(session),
  }),
  actionScreen({
    path: `${listPath}/{grant_id}/revoke`,
    audience: 'operator',
    call: 'DELETE /v1/admin/support/grants/{grant_id}',
    done: 'grant_revoked',
    back: listPath,
  }),
];

async function list(visit: ScreenVisit) {
  const { api, query } = visit;
  const listed = await api.get<'support.grants.list'>(
    link('/v1/admin/support/grants', { ...filterQuery(query), sort: '-created_at', limit: '50' }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No grants', 'Request access to an organization, with a reason and a duration.'),
    caption: 'Support grants',
    columns: grantColumns(visit),
  });
  const create = linkButton(visit, { path: `${listPath}/new`, label: 'Request access', tone: 'primary' });
  return view({
    title: 'Support grants',
    actions: create,
    intro: 'Time-limited access to organizations, logged for them.',
  })`
${filterBar(listPath, filters, query)}${card('Grants', body)}`;
}

const grantColumns = (visit: ScreenVisit): readonly Column<GrantItem>[] => [
  {
    title: 'Organization',
    cell: (one) => html`<a href="${path`/console/orgs/${one.org_id}`}"><code>${one.org_id}</code></a>`,
  },
  {
    title: 'Reason',
    cell: (one) => html`${one.reason}<span class="sub">by <code>${one.created_by}</code></span>`,
  },
  { title: 'Permissions', cell: (one) => codeList(one.scope) },
  { title: 'Expires', cell: (one) => nowrap(time(one.expires_at, 'UTC')) },
  { title: 'Status', cell: (one) => badge(one.status, grantTones[one.status] ?? 'plain') },
  { title: '', cell: (one) => actions(one, visit) },
];

function actions({ id, status, reason }: GrantItem, visit: ScreenVisit): Markup | false {
  const at = path`/console/grants/${id}`;
  return (
    (status === 'active' || status === 'pending') &&
    html`<div class="actions">${
      status === 'active' &&
      actionButton(visit, {
        path: `${at}/open`,
        label: 'Open session',
        tone: 'primary',
        about: reason,
        once: true,
      })
    }
${confirmButton(visit, { path: `${at}/revoke`, label: 'Revoke', about: reason, thing: reason }, 'Its sessions end immediately.')}</div>`
  );
}

/** Opens a session under the organization's active grant; without one, leads to the form that requests it. */
export function openConsoleButton(
  visit: ScreenVisit,
  orgId: string,
  grants: Responses['support.grants.list'] | ApiFailure,
): Part {
  const listed = grants instanceof ApiFailure ? [] : grants.data;
  const active = listed.find(({ status }) => status === 'active');
  if (active !== undefined) {
    return actionButton(visit, {
      path: path`/console/grants/${active.id}/open`,
      label: 'Open console',
      tone: 'primary',
      once: true,
    });
  }
  return listed.some(({ status }) => status === 'pending')
    ? badge('Access requested', 'warn')
    : linkButton(visit, {
        path: link('/console/grants/new', { org_id: orgId }),
        label: 'Open console',
        tone: 'primary',
      });
}

/** The token is a bearer token for the API, and signs in to the organization's console. */
function opened({ org_id, expires_at, token }: Responses['support.sessions.open']): View {
  const intro = html`For <code>${org_id}</code>, until ${time(expires_at, 'UTC')}. Every request is logged for the organization.`;
  return view({ title: 'Support session', actions: buttonTo(listPath, 'All grants'), intro })`
${secretBox('Support session opened.', token)}
<form method="post" action="${entryPath}">${hiddenInputs({ token })}<button class="button primary">Enter console</button></form>`;
}
