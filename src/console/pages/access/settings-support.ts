/** Support access: whether there may be any, which grants there are, and what was looked at under them. */
import type { Item } from '../../../contract/views/responses.ts';
import {
  actionButton,
  askFirst,
  badge,
  type Column,
  cardOf,
  empty,
  heading,
  linkButton,
  type Tone,
  table,
} from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { time, words } from '../../format.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { listing } from '../../listing.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const here = `${settingsPath}/support`;

export type GrantView = Item<'support_access.grants.list'>;

export const grantTones: Readonly<Record<string, Tone>> = { active: 'good', pending: 'warn', denied: 'bad' };

export const supportScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...formScreens({
    path: `${here}/settings`,
    title: 'Support access',
    intro:
      'Operators of this service see into your organization only under a grant, for at most eight hours.',
    submit: 'Save',
    back: here,
    fields: () => [
      {
        name: 'allowed',
        label: 'Support may be granted access',
        kind: 'checkbox',
        help: 'Taking it away ends every grant and session there is, at once.',
      },
      {
        name: 'approval_required',
        label: 'An admin of ours has to approve each grant first',
        kind: 'checkbox',
      },
    ],
    async load({ api, org }) {
      const settings = await api.get<'support_access.settings.read'>(`${org.path}/support-access/settings`);
      return { allowed: String(settings.allowed), approval_required: String(settings.approval_required) };
    },
    call: 'PUT {org}/support-access/settings',
  }),
  ...(
    [
      ['approve', 'POST', '/approve', 'approved'],
      ['deny', 'POST', '/deny', 'denied'],
      ['revoke', 'DELETE', '', 'grant_revoked'],
    ] as const
  ).map(([word, method, end, done]) =>
    actionScreen({
      path: `${here}/grants/{grant_id}/${word}`,
      call: `${method} {org}/support-access/grants/{grant_id}${end}`,
      done,
      back: here,
    }),
  ),
];

async function overview(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const [settings, grants, accesses] = await Promise.all([
    api.tryGet<'support_access.settings.read'>(`${org.path}/support-access/settings`),
    api.tryGet<'support_access.grants.list'>(`${org.path}/support-access/grants?sort=-created_at&limit=20`),
    api.tryGet<'support_access.list'>(
      link(`${org.path}/support-access`, {
        ...filterQuery(query),
        sort: '-at',
        limit: '50',
      }),
    ),
  ]);
  return view(
    'Support access',
    html`${heading('Support access', linkButton(visit, { path: `${here}/settings`, label: 'Change' }))}${settingsTabs('/support')}
${cardOf('What is allowed', settings, ({ allowed, approval_required }) => html`<p>${allowed ? badge('allowed', 'good') : badge('not allowed', 'bad')} ${!allowed ? 'Nobody of support can be granted access.' : approval_required ? 'Each grant waits until an admin of yours approves it.' : 'Operators make grants without your approval; you see each one here.'}</p>`)}
${cardOf('Grants', grants, ({ data }) => (data.length === 0 ? empty('No grants', 'Nobody of support has asked to see into your organization.') : grantTable(data, visit)))}
${cardOf('What was done under them', accesses, (listed) => listing({ listed, path: here, query, none: empty('Nothing', 'Every request of support stands here, allowed or not, before it is served.'), caption: 'Support access', columns: accessColumns(org.timezone) }))}`,
  );
}

function grantTable(grants: readonly GrantView[], visit: ScreenVisit): Markup {
  const { timezone } = visit.org;
  return table({
    caption: 'Grants',
    rows: grants,
    columns: [
      {
        title: 'Why',
        cell: (one) => html`${one.reason}<span class="sub"><code>${one.created_by}</code></span>`,
      },
      { title: 'May', cell: (one) => one.scope.map((scope) => html`<code>${scope}</code> `) },
      { title: 'Made', cell: (one) => html`<span class="nowrap">${time(one.created_at, timezone)}</span>` },
      { title: 'Until', cell: (one) => html`<span class="nowrap">${time(one.expires_at, timezone)}</span>` },
      { title: 'State', cell: (one) => badge(one.status, grantTones[one.status] ?? 'plain') },
      { title: '', cell: (one) => decisions(one, visit) },
    ],
  });
}

function decisions({ id, status, reason }: GrantView, visit: ScreenVisit): Markup | false {
  const at = path`/console/settings/support/grants/${id}`;
  if (status === 'pending') {
    return html`<div class="actions">${actionButton(visit, { path: `${at}/approve`, label: 'Approve', tone: 'primary', about: reason })}${actionButton(visit, { path: `${at}/deny`, label: 'Deny', about: reason })}</div>`;
  }
  return (
    status === 'active' &&
    askFirst(
      visit,
      { path: `${at}/revoke`, label: 'Revoke', about: reason },
      'Sessions under it end at once.',
    )
  );
}

function accessColumns(timezone: string): Column<Item<'support_access.list'>>[] {
  return [
    { title: 'When', cell: (one) => html`<span class="nowrap">${time(one.at, timezone)}</span>` },
    { title: 'Who', cell: (one) => html`<code>${one.actor_id}</code>` },
    {
      title: 'What',
      cell: (one) => (one.path === null ? words(one.kind) : html`<code>${one.method} ${one.path}</code>`),
    },
    {
      title: 'Outcome',
      cell: (one) =>
        one.outcome !== null &&
        html`${badge(one.outcome, one.outcome === 'allowed' ? 'good' : 'bad')} ${one.code}`,
    },
  ];
}
