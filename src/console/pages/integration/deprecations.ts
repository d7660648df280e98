/** Deprecated endpoints and the API keys that still call them: of one organization, or of all for operators. */
import { cardOf, empty, nextPage } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { count, time } from '../../format.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, code, nowrap, subline } from '../../inline.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import { settingsPath, settingsTabs } from '../access/settings-tabs.ts';

type DeprecatedCallsItem = Item<'deprecations.usage'>;

const orgPage = `${settingsPath}/deprecations`;
const operatorPage = '/console/deprecations';

export const deprecationScreens: readonly Screen[] = [
  {
    path: orgPage,
    audience: 'org',
    handler: (visit) =>
      shown(visit, orgPage, `${visit.org.path}/deprecations/usage`, settingsTabs('/deprecations', visit)),
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
  return view({
    title: 'Deprecations',
    intro: 'Deprecated endpoints and the API keys that still call them.',
  })`
${tabs}
${cardOf('Still in use', usage, ({ data, next_cursor }) =>
  data.length === 0
    ? empty('Nothing to do', 'No API key calls a deprecated endpoint.')
    : [callsTable(data, org.timezone, here === operatorPage), nextPage(here, query, next_cursor)],
)}
${cardOf('Deprecated endpoints', routes, routeTable)}`;
}

function callsTable(
  calls: readonly DeprecatedCallsItem[],
  timezone: string,
  isForOperators: boolean,
): Markup {
  return table({
    caption: 'Calls of deprecated endpoints',
    rows: calls,
    columns: [
      { title: 'Endpoint', cell: (one) => html`<code>${one.route}</code>` },
      ...(isForOperators
        ? [
            {
              title: 'Organization',
              cell: (one: DeprecatedCallsItem) =>
                one.org_id === null
                  ? badge('operator')
                  : html`<a href="/console/orgs/${one.org_id}">${one.org_name ?? one.org_id}</a>`,
            },
          ]
        : []),
      {
        title: 'API key',
        cell: ({ key_id, key_name }) => [
          isForOperators || key_name === null
            ? (key_name ?? '–')
            : html`<a href="${path`/console/keys/${key_id}`}">${key_name}</a>`,
          subline(code(key_id)),
        ],
      },
      { title: 'Calls', isNumber: true, cell: (one) => count(one.calls) },
      { title: 'Last call', cell: (one) => nowrap(time(one.last_called_at, timezone)) },
    ],
  });
}

function routeTable(routes: Responses['meta.deprecations']): Markup {
  return table({
    caption: 'Deprecated endpoints',
    rows: routes,
    columns: [
      { title: 'Endpoint', cell: (one) => html`<code>${one.route}</code>` },
      { title: 'Deprecated since', cell: (one) => nowrap(one.since) },
      { title: 'Sunset', cell: (one) => nowrap(one.sunset.replace(/^\w+, | \d\d:.*/g, '')) },
      {
        title: 'Replacement',
        cell: (one) => (one.replacement === undefined ? '–' : html`<code>${one.replacement}</code>`),
      },
      { title: 'Guide', cell: (one) => html`<a href="${one.documentation}">Migration guide</a>` },
    ],
  });
}
