/** Members of the organization: list, invitation and role. */
import { actionButton, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card, empty, panel, secretBox } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, subline, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, view } from '../../screen.ts';
import type { Column } from '../../table.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const listPath = `${settingsPath}/members`;
const memberPath = `${listPath}/{member_id}`;
const apiPath = '/members/{member_id}';

type MemberResponse = Responses['members.read'];

const role: Field = {
  name: 'role',
  label: 'Role',
  kind: 'select',
  required: true,
  options: ['viewer', 'member', 'admin', 'owner'].map((value) => ({ value, label: value })),
  help: 'Viewer: read. Member: also post runs and request decisions. Admin: also configure. Owner: full access.',
};
const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    options: ['invited', 'active', 'removed'].map((value) => ({ value, label: value })),
  },
  { name: 'email', label: 'Email' },
];
const tones: Readonly<Record<MemberResponse['status'], Tone>> = {
  active: 'good',
  invited: 'info',
  removed: 'bad',
};

export const memberScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens<'members.invite'>({
    path: `${listPath}/new`,
    title: 'Invite member',
    intro:
      'Creates a single-use sign-in link, valid for 72 hours. Purser does not send email: share the link yourself.',
    submit: 'Invite',
    back: listPath,
    fields: () => [
      { name: 'email', label: 'Email', kind: 'text', required: true, placeholder: 'ada@example.com' },
      { name: 'name', label: 'Name', kind: 'text' },
      role,
    ],
    call: 'POST {org}/members',
    show: shownLink,
  }),
  ...formScreens({
    path: memberPath,
    title: 'Member',
    intro:
      'A new role applies to the next request. With a group mapping, SSO sets the role again at the next sign-in.',
    submit: 'Save',
    back: listPath,
    fields: () => [{ name: 'name', label: 'Name', kind: 'text', required: true }, role],
    async load({ api, org, params }) {
      const member = await api.get<'members.read'>(org.path + pathOf(apiPath, params));
      return { name: member.name, role: member.role };
    },
    call: `PATCH {org}${apiPath}`,
  }),
  actionScreen<'members.sign_in_link'>({
    path: `${memberPath}/link`,
    call: `POST {org}${apiPath}/sign-in-link`,
    done: 'saved',
    back: listPath,
    show: shownLink,
  }),
  actionScreen({
    path: `${memberPath}/remove`,
    call: `DELETE {org}${apiPath}`,
    done: 'member_removed',
    back: listPath,
  }),
];

async function shownLink(
  _visit: ScreenVisit,
  { name, sign_in_url, emailed }: Responses['members.invite'],
): Promise<ScreenAnswer> {
  return view({ title: 'Sign-in link', actions: buttonTo(listPath, 'All members') })`
${emailed && html`<p class="note">It is being sent to the member by e-mail.</p>`}
${
  sign_in_url === null
    ? panel(html`<p>${name} was added as a member and signs in by SSO.</p>`)
    : secretBox(`Single-use sign-in link for ${name}.`, sign_in_url)
}`;
}

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const listed = await api.get<'members.list'>(
    link(`${org.path}/members`, { ...filterQuery(query), sort: 'name', limit: '50' }),
  );
  const invite = linkButton(visit, { path: `${listPath}/new`, label: 'Invite member', tone: 'primary' });
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No members yet', 'Members sign in to the console with their own role.', invite),
    caption: 'Members',
    columns: memberColumns(visit),
  });
  return view({ title: 'Members', actions: invite })`
${settingsTabs('/members', visit)}${filterBar(listPath, filters, query)}${card('Members', body)}`;
}

function memberColumns(visit: ScreenVisit): Column<MemberResponse>[] {
  const { now } = visit;
  return [
    {
      title: 'Member',
      cell: (one) =>
        html`${one.status === 'removed' ? one.name : html`<a href="${path`/console/settings/members/${one.id}`}">${one.name}</a>`}${subline(one.email)}`,
    },
    { title: 'Role', cell: (one) => one.role },
    { title: 'Status', cell: (one) => badge(one.status, tones[one.status]) },
    { title: 'Last sign-in', cell: (one) => html`${ago(one.last_sign_in_at, now)}${subline(one.issuer)}` },
    { title: '', cell: (one) => actions(one, visit) },
  ];
}

function actions({ id, name, status }: MemberResponse, visit: ScreenVisit): Markup | false {
  const at = path`/console/settings/members/${id}`;
  return (
    status !== 'removed' &&
    html`<div class="actions">${actionButton(visit, { path: `${at}/link`, label: 'Create sign-in link', about: `for ${name}`, once: true })}
${confirmButton(visit, { path: `${at}/remove`, label: 'Remove', about: name, thing: name }, `Remove ${name}? Their sessions end immediately.`)}</div>`
  );
}
