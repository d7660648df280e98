/** Support access: settings, grants and activity. */
import { actionButton, confirmButton, linkButton } from '../../buttons.ts';
import { cardOf, empty } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { humanize, time } from '../../format.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, codeList, nowrap, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { type Column, table } from '../../table.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const here = `${settingsPath}/support`;

export type GrantItem = Item<'support_access.grants.list'>;

export const grantTones: Readonly<Record<string, Tone>> = { active: 'good', pending: 'warn', denied: 'bad' };

export const supportScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...formScreens({
    path: `${here}/settings`,
    title: 'Support access',
    intro: 'Operators can access your organization only under a grant of at most eight hours.',
    submit: 'Save',
    back: here,
    fields: () => [
      {
        name: 'allowed',
        label: 'Allow support access',
        kind: 'checkbox',
        help: 'Turning this off ends all grants and support sessions immediately.',
      },
      {
        name: 'approval_required',
        label: 'Require admin approval',
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
  ).map(([verb, method, suffix, done]) =>
    actionScreen({
      path: `${here}/grants/{grant_id}/${verb}`,
      call: `${method} {org}/support-access/grants/{grant_id}${suffix}`,
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
  return view({
    title: 'Support access',
    actions: linkButton(visit, { path: `${here}/settings`, label: 'Edit' }),
  })`
${settingsTabs('/support', visit)}
${cardOf('Settings', settings, grantPolicy)}
${cardOf('Grants', grants, ({ data }) => grantTable(data, visit))}
${cardOf('Support activity', accesses, (listed) =>
  listing({
    listed,
    path: here,
    query,
    none: empty(
      'No activity',
      'Every support request, allowed or denied, is logged here before it is served.',
    ),
    caption: 'Support access',
    columns: accessColumns(org.timezone),
  }),
)}`;
}

function grantPolicy({ allowed, approval_required }: Responses['support_access.settings.read']): Markup {
  if (!allowed) {
    return html`<p>${badge('not allowed', 'bad')} Operators cannot be granted access.</p>`;
  }
  return html`<p>${badge('allowed', 'good')} ${
    approval_required
      ? 'Grants need approval by an admin.'
      : 'Grants need no approval; each one is listed here.'
  }</p>`;
}

function grantTable(grants: readonly GrantItem[], visit: ScreenVisit): Markup {
  if (grants.length === 0) {
    return empty('No grants', 'Support has not requested access to your organization.');
  }
  const { timezone } = visit.org;
  return table({
    caption: 'Grants',
    rows: grants,
    columns: [
      {
        title: 'Reason',
        cell: (one) => html`${one.reason}<span class="sub"><code>${one.created_by}</code></span>`,
      },
      { title: 'Permissions', cell: (one) => codeList(one.scope) },
      { title: 'Created', cell: (one) => nowrap(time(one.created_at, timezone)) },
      { title: 'Expires', cell: (one) => nowrap(time(one.expires_at, timezone)) },
      { title: 'Status', cell: (one) => badge(one.status, grantTones[one.status] ?? 'plain') },
      { title: '', cell: (one) => decisions(one, visit) },
    ],
  });
}

function decisions({ id, status, reason }: GrantItem, visit: ScreenVisit): Markup | false {
  const at = path`/console/settings/support/grants/${id}`;
  if (status === 'pending') {
    return html`<div class="actions">${actionButton(visit, { path: `${at}/approve`, label: 'Approve', tone: 'primary', about: reason })}
${actionButton(visit, { path: `${at}/deny`, label: 'Deny', about: reason })}</div>`;
  }
  return (
    status === 'active' &&
    confirmButton(
      visit,
      { path: `${at}/revoke`, label: 'Revoke', about: reason, thing: reason },
      'Its sessions end immediately.',
    )
  );
}

function accessColumns(timezone: string): Column<Item<'support_access.list'>>[] {
  return [
    { title: 'Time', cell: (one) => nowrap(time(one.at, timezone)) },
    { title: 'Actor', cell: (one) => html`<code>${one.actor_id}</code>` },
    {
      title: 'Request',
      cell: (one) => (one.path === null ? humanize(one.kind) : html`<code>${one.method} ${one.path}</code>`),
    },
    {
      title: 'Outcome',
      cell: (one) =>
        one.outcome !== null &&
        html`${badge(one.outcome, one.outcome === 'allowed' ? 'good' : 'bad')} ${one.code}`,
    },
  ];
}
