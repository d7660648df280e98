/** People of the organization: invited, given a role, removed. */
import type { Listed } from '../api.ts';
import {
  actionButton,
  askFirst,
  badge,
  type Column,
  card,
  empty,
  heading,
  panel,
  secretBox,
  type Tone,
} from '../components.ts';
import { actionScreen, formScreens, pathOf } from '../editing.ts';
import { type Filter, filterBar, filterQuery } from '../filters.ts';
import { ago } from '../format.ts';
import type { Field } from '../forms.ts';
import { type Html, html, link, path } from '../html.ts';
import { listing } from '../listing.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, view } from '../screen.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const listPath = `${settingsPath}/members`;
const memberPath = `${listPath}/{member_id}`;
const apiPath = '/members/{member_id}';

interface MemberView {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: string;
  readonly status: 'invited' | 'active' | 'removed';
  readonly issuer: string | null;
  readonly last_sign_in_at: string | null;
}

interface InvitedMember extends MemberView {
  readonly sign_in_url: string | null;
}

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
  ...formScreens<InvitedMember>({
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
    send: ({ api, org }, body) => api.send('POST', `${org.path}/members`, body),
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
      const member = await api.get<MemberView>(org.path + pathOf(apiPath, params));
      return { name: member.name, role: member.role };
    },
    send: ({ api, org, params }, body) => api.send('PATCH', org.path + pathOf(apiPath, params), body),
  }),
  actionScreen<InvitedMember>({
    path: `${memberPath}/link`,
    send: ({ api, org, params }) => api.send('POST', org.path + pathOf(`${apiPath}/sign-in-link`, params)),
    done: 'saved',
    back: listPath,
    show: shownLink,
  }),
  actionScreen({
    path: `${memberPath}/remove`,
    send: ({ api, org, params }) => api.send('DELETE', org.path + pathOf(apiPath, params)),
    done: 'member_removed',
    back: listPath,
  }),
];

async function shownLink(_visit: ScreenVisit, { name, sign_in_url }: InvitedMember): Promise<ScreenAnswer> {
  return view(
    'Sign-in link',
    html`${heading('Sign-in link', html`<a class="button" href="${listPath}">All members</a>`)}
${sign_in_url === null ? panel(html`<p>${name} is a member now, and signs in by SSO.</p>`) : secretBox(`It signs ${name} in, once.`, sign_in_url)}`,
  );
}

async function list({ api, org, query, now }: ScreenVisit) {
  const listed = await api.get<Listed<MemberView>>(
    link(`${org.path}/members`, { ...filterQuery(filters, query), sort: 'name', limit: '50' }),
  );
  const invite = html`<a class="button primary" href="${listPath}/new">Invite somebody</a>`;
  const body = listing({
    listed,
    path: listPath,
    query,
    filters,
    none: empty(
      'Nobody was invited yet',
      'Members sign in to the console as themselves, with a role each.',
      invite,
    ),
    caption: 'Members',
    columns: memberColumns(now),
  });
  return view(
    'Members',
    html`${heading('Members', invite)}${settingsTabs('/members')}${filterBar(listPath, filters, query)}${card('By name', body)}`,
  );
}

function memberColumns(now: Date): Column<MemberView>[] {
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
    { title: '', cell: actions },
  ];
}

function actions({ id, name, status }: MemberView): Html | false {
  const at = path`/console/settings/members/${id}`;
  return (
    status !== 'removed' &&
    html`<div class="actions">${actionButton({ path: `${at}/link`, label: 'New sign-in link', about: `for ${name}` })}
${askFirst({ path: `${at}/remove`, label: 'Remove', about: name }, `The sessions of ${name} end at once.`)}</div>`
  );
}
