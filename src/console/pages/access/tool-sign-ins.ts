/** Sign-ins of coding tools: of the visitor, and of all members for admins. */
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

const listPath = `${settingsPath}/tool-sign-ins`;
const tones: Readonly<Record<string, Tone>> = { active: 'good', ended: 'bad' };
const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    options: ['active', 'expired', 'ended'].map((value) => ({ value, label: value })),
  },
];

export const toolSignInScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  actionScreen({
    path: `${listPath}/{tool_sign_in_id}/end`,
    audience: 'org',
    call: 'DELETE {org}/tool-sign-ins/{tool_sign_in_id}',
    done: 'tool_sign_in_ended',
    back: listPath,
  }),
];

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const listed = await api.get<'tool_sign_ins.list'>(
    link(`${org.path}/tool-sign-ins`, { ...filterQuery(query), limit: '50' }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No tool sign-ins', 'Coding tools that you connect appear here.'),
    caption: 'Tool sign-ins',
    columns: columns(visit),
  });
  return view({
    title: 'Tool sign-ins',
    intro:
      'Coding tools that are connected to your account; admins see all. Ended ones stop working within a second.',
  })`
${settingsTabs('/tool-sign-ins', visit)}${filterBar(listPath, filters, query)}${card('Tool sign-ins', body)}`;
}

function columns(visit: ScreenVisit): Column<Item<'tool_sign_ins.list'>>[] {
  const { now, org } = visit;
  return [
    {
      title: 'Member',
      cell: (one) => html`${one.member_name}${subline(one.client_id)}`,
    },
    {
      title: 'IP address',
      cell: (one) => html`<code>${one.address}</code>${subline(one.user_agent.slice(0, 60))}`,
    },
    { title: 'Connected', cell: (one) => nowrap(time(one.created_at, org.timezone)) },
    { title: 'Renewed', cell: (one) => (one.renewed_at === null ? 'never' : ago(one.renewed_at, now)) },
    { title: 'Ends', cell: (one) => nowrap(time(one.ended_at ?? one.expires_at, org.timezone)) },
    { title: 'Status', cell: (one) => badge(one.status, tones[one.status] ?? 'plain') },
    {
      title: '',
      cell: (one) =>
        one.status === 'active' &&
        confirmButton(
          visit,
          {
            path: pathOf(`${listPath}/{tool_sign_in_id}/end`, { tool_sign_in_id: one.id }),
            label: 'End sign-in',
            about: `of ${one.member_name}`,
          },
          `${one.member_name} will have to sign in again from this tool.`,
        ),
    },
  ];
}
