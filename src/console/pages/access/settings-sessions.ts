/** Console sessions of members and operators. */
import { confirmButton } from '../../buttons.ts';
import { card, empty } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen } from '../../form-screens.ts';
import { ago, time } from '../../format.ts';
import { html, link } from '../../html.ts';
import { badge, nowrap, subline, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Item } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import type { Column } from '../../table.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const orgPath = `${settingsPath}/sessions`;
const operatorPath = '/console/sessions';

const tones: Readonly<Record<string, Tone>> = { active: 'good', revoked: 'bad' };
const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    options: ['active', 'expired', 'revoked'].map((value) => ({ value, label: value })),
  },
];
const methods: Readonly<Record<string, string>> = {
  key: 'API key',
  link: 'one-time link',
  invitation: 'invitation',
  oidc: 'OIDC',
  saml: 'SAML',
};

export const sessionScreens: readonly Screen[] = (
  [
    ['org', orgPath],
    ['operator', operatorPath],
  ] as const
).flatMap(([audience, listPath]) => [
  { path: listPath, audience, handler: (visit: ScreenVisit) => list(visit, listPath) },
  actionScreen({
    path: `${listPath}/{session_id}/end`,
    audience,
    call: 'DELETE {org}/sessions/{session_id}',
    done: 'session_ended',
    back: listPath,
  }),
]);

async function list(visit: ScreenVisit, listPath: string) {
  const { api, org, query } = visit;
  const listed = await api.get<'sessions.list' | 'operator_sessions.list'>(
    link(`${org.path}/sessions`, { ...filterQuery(query), sort: '-last_seen_at', limit: '50' }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No sessions', 'Console sign-ins appear here.'),
    caption: 'Sessions',
    columns: sessionColumns(listPath, visit),
  });
  return view({
    title: 'Sessions',
    intro: 'Your sessions; admins see all. Ended sessions stop working within a second.',
  })`
${listPath === orgPath && settingsTabs('/sessions', visit)}${filterBar(listPath, filters, query)}${card('Sessions', body)}`;
}

function sessionColumns(listPath: string, visit: ScreenVisit): Column<Item<'sessions.list'>>[] {
  const { now, org } = visit;
  return [
    {
      title: 'User',
      cell: (one) =>
        html`${one.name}${one.current && html` ${badge('This device', 'info')}`}<span class="sub">${one.role}, ${methods[one.method] ?? one.method}</span>`,
    },
    {
      title: 'IP address',
      cell: (one) => html`<code>${one.address}</code>${subline(browserName(one.user_agent))}`,
    },
    { title: 'Signed in', cell: (one) => nowrap(time(one.created_at, org.timezone)) },
    { title: 'Last seen', cell: (one) => ago(one.last_seen_at, now) },
    { title: 'Status', cell: (one) => badge(one.status, tones[one.status] ?? 'plain') },
    {
      title: '',
      cell: (one) =>
        one.status === 'active' &&
        confirmButton(
          visit,
          {
            path: pathOf(`${listPath}/{session_id}/end`, { session_id: one.id }),
            label: one.current ? 'Sign out' : 'End session',
            about: `of ${one.name}`,
          },
          one.current ? 'You will have to sign in again.' : `${one.name} will have to sign in again.`,
        ),
    },
  ];
}

/** Browser and system of a user agent, enough to recognize one's own. */
function browserName(userAgent: string): string {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)[a-z]*\/(\d+)/.exec(userAgent);
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(userAgent)?.[0];
  return browser === null
    ? userAgent.slice(0, 60)
    : [`${browser[1]} ${browser[2]}`, system].filter(Boolean).join(', ');
}
