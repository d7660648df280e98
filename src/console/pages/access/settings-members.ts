/** People of the organization: invited, given a role, removed. */
import type { Responses } from '../../../contract/views/responses.ts';
import {
  actionButton,
  askFirst,
  badge,
  type Column,
  card,
  empty,
  heading,
  linkButton,
  panel,
  secretBox,
  type Tone,
} from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const listPath = `${settingsPath}/members`;
const memberPath = `${listPath}/{member_id}`;
const apiPath = '/members/{member_id}';

type MemberView = Responses['members.read'];

const role: Field = {
  name: 'role',
  label: 'Role',
  kind: 'select',
  required: true,
  options: ['viewer', 'member', 'admin', 'owner'].map((value) => ({ value, label: value })),
  help: 'viewer reads; member posts runs and asks for decisions; admin configures; owner does everything.',
};
const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'State',
    options: ['invited', 'active', 'removed'].map((value) => ({ value, label: value })),
  },
  { name: 'email', label: 'E-mail' },
];
const tones: Readonly<Record<MemberView['status'], Tone>> = {
  active: 'good',
  invited: 'info',
  removed: 'bad',
};

export const memberScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens<'members.invite'>({
    path: `${listPath}/new`,
    title: 'Invite somebody',
    intro:
      'They get a link that signs them in once, within 72 hours. No mail is sent: hand it over yourself.',
    submit: 'Invite',
    back: listPath,
    fields: () => [
      { name: 'email', label: 'E-mail', kind: 'text', required: true, placeholder: 'ada@example.com' },
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
      'The role holds at the next request. Where SSO maps groups to roles, the next sign-in sets it again.',
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
  { name, sign_in_url }: Responses['members.invite'],
): Promise<ScreenAnswer> {
  return view(
    'Sign-in link',
    html`${heading('Sign-in link', html`<a class="button" href="${listPath}">All members</a>`)}
${sign_in_url === null ? panel(html`<p>${name} is a member now, and signs in by SSO.</p>`) : secretBox(`It signs ${name} in, once.`, sign_in_url)}`,
  );
}

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const listed = await api.get<'members.list'>(
    link(`${org.path}/members`, { ...filterQuery(query), sort: 'name', limit: '50' }),
  );
  const invite = linkButton(visit, { path: `${listPath}/new`, label: 'Invite somebody', tone: 'primary' });
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'Nobody was invited yet',
      'Members sign in to the console as themselves, with a role each.',
      invite,
    ),
    caption: 'Members',
    columns: memberColumns(visit),
  });
  return view(
    'Members',
    html`${heading('Members', invite)}${settingsTabs('/members')}${filterBar(listPath, filters, query)}${card('By name', body)}`,
  );
}

function memberColumns(visit: ScreenVisit): Column<MemberView>[] {
  const { now } = visit;
  return [
    {
      title: 'Who',
      cell: (one) =>
        html`${one.status === 'removed' ? one.name : html`<a href="${path`/console/settings/members/${one.id}`}">${one.name}</a>`}<span class="sub">${one.email}</span>`,
    },
    { title: 'Role', cell: (one) => one.role },
    { title: 'State', cell: (one) => badge(one.status, tones[one.status]) },
    {
      title: 'Last sign-in',
      cell: (one) =>
        html`${ago(one.last_sign_in_at, now)}${one.issuer !== null && html`<span class="sub">${one.issuer}</span>`}`,
    },
    { title: '', cell: (one) => actions(one, visit) },
  ];
}

function actions({ id, name, status }: MemberView, visit: ScreenVisit): Markup | false {
  const at = path`/console/settings/members/${id}`;
  return (
    status !== 'removed' &&
    html`<div class="actions">${actionButton(visit, { path: `${at}/link`, label: 'New sign-in link', about: `for ${name}`, once: true })}
${askFirst(visit, { path: `${at}/remove`, label: 'Remove', about: name }, `The sessions of ${name} end at once.`)}</div>`
  );
}
