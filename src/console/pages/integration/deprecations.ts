/** What is going to be removed, and who still calls it: an org of its own keys, operators of everybody's. */
import type { Item, Responses } from '../../../contract/views/responses.ts';
import { ApiFailure } from '../../api.ts';
import { badge, card, cardOf, empty, heading, nextPage, notice, table } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { count, time } from '../../format.ts';
import { html, link, type Markup } from '../../html.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from '../access/settings-tabs.ts';

type CallsView = Item<'deprecations.usage'>;

const orgPage = `${settingsPath}/deprecations`;
const operatorPage = '/console/deprecations';

export const deprecationScreens: readonly Screen[] = [
  {
    path: orgPage,
    audience: 'org',
    handler: (visit) =>
      shown(visit, orgPage, `${visit.org.path}/deprecations/usage`, settingsTabs('/deprecations')),
  },
  {
    path: operatorPage,
    audience: 'operator',
    handler: (visit) => shown(visit, operatorPage, '/v1/admin/deprecations/usage'),
  },
];

async function shown({ api, org, query }: ScreenVisit, here: string, usagePath: string, tabs?: Markup) {
  const [routes, usage] = await Promise.all([
    api.get<'meta.deprecations'>('/v1/meta/deprecations'),
    api.tryGet<'deprecations.usage' | 'deprecations.own_usage'>(
      link(usagePath, { ...filterQuery(query), limit: '50' }),
    ),
  ]);
  return view(
    'Deprecations',
    html`${heading('Deprecations', undefined, 'Routes that may be removed after their sunset, and whose keys still call them.')}${tabs}
${card('Still in use', usage instanceof ApiFailure ? notice(usage) : usage.data.length === 0 ? empty('Nothing to do', 'No key calls a deprecated route.') : html`${callsTable(usage.data, org.timezone, here === operatorPage)}${nextPage(here, query, usage.next_cursor)}`)}
${cardOf('Deprecated routes', routes, routeTable)}`,
  );
}

function callsTable(calls: readonly CallsView[], timezone: string, ofEveryOrg: boolean): Markup {
  return table({
    caption: 'Calls of deprecated routes',
    rows: calls,
    columns: [
      { title: 'Route', cell: (one) => html`<code>${one.route}</code>` },
      ...(ofEveryOrg
        ? [
            {
              title: 'Org',
              cell: (one: CallsView) =>
                one.org_id === null
                  ? badge('operator')
                  : html`<a href="/console/orgs/${one.org_id}">${one.org_name ?? one.org_id}</a>`,
            },
          ]
        : []),
      {
        title: 'Key',
        cell: (one) => html`${one.key_name ?? '–'}<span class="sub"><code>${one.key_id}</code></span>`,
      },
      { title: 'Calls', isNumber: true, cell: (one) => count(one.calls) },
      {
        title: 'Last',
        cell: (one) => html`<span class="nowrap">${time(one.last_called_at, timezone)}</span>`,
      },
    ],
  });
}

function routeTable(routes: Responses['meta.deprecations']): Markup {
  return table({
    caption: 'Deprecated routes',
    rows: routes,
    columns: [
      { title: 'Route', cell: (one) => html`<code>${one.route}</code>` },
      { title: 'Since', cell: (one) => html`<span class="nowrap">${one.since}</span>` },
      {
        title: 'Sunset',
        cell: (one) => html`<span class="nowrap">${one.sunset.replace(/^\w+, | \d\d:.*/g, '')}</span>`,
      },
      {
        title: 'Instead',
        cell: (one) => (one.replacement === undefined ? '–' : html`<code>${one.replacement}</code>`),
      },
      { title: 'More', cell: (one) => html`<a href="${one.documentation}">What to change</a>` },
    ],
  });
}
