/** Blocked requests and their reasons. */
import { ApiFailure } from '../../api.ts';
import { alert, card, empty } from '../../components.ts';
import { dayFilters } from '../../day-range.ts';
import { denialCodes, denialName, denialReason, denialTitle } from '../../denial-texts.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { ago, count, humanize } from '../../format.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, nowrap, subline } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { keyLink, keysById } from '../../names.ts';
import { periodOf } from '../../periods.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import type { DenialItem } from '../../views.ts';

const listPath = '/console/refusals';
const filters: readonly Filter[] = [
  {
    name: 'code',
    label: 'Reason',
    options: denialCodes.map((code) => ({ value: code, label: denialTitle(code) })),
  },
  { name: 'trace_id', label: 'Trace ID' },
  ...dayFilters,
  { name: 'model', label: 'Model' },
  { name: 'customer_id', label: 'Customer', isRare: true },
  { name: 'workflow', label: 'Workflow', isRare: true },
  { name: 'action', label: 'Action', isRare: true },
  { name: 'key_id', label: 'API key ID', isRare: true },
];

export const denialScreens: readonly Screen[] = [{ path: listPath, audience: 'org', handler: list }];

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const found = await api.tryGet<'refusals.list'>(
    link(`${org.path}/refusals`, { ...filterQuery(query), ...periodOf(visit, 'all').api, limit: '50' }),
  );
  if (found instanceof ApiFailure && found.code !== 'validation_failed') {
    throw found;
  }
  const intro = html`Requests blocked by limits, policies, rate limits or detectors.
The last 1,000 are kept; identical ones within a second are grouped.`;
  return view({ title: 'Blocked requests', intro, status: found instanceof ApiFailure ? found.status : 200 })`
${filterBar(listPath, filters, query)}${card('Recent', found instanceof ApiFailure ? alert('Invalid filters.', found.fields) : await rows(found, visit))}`;
}

async function rows(
  listed: { readonly data: readonly DenialItem[]; readonly next_cursor: string | null },
  { api, org, query, now }: ScreenVisit,
): Promise<Markup> {
  const keys = await keysById(
    api,
    org,
    listed.data.map(({ key_id }) => key_id),
  );
  return listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'No blocked requests',
      'Requests blocked by limits, policies, rate limits or detectors appear here within seconds.',
    ),
    caption: 'Blocked requests',
    columns: [
      { title: 'Time', cell: (row) => nowrap(ago(row.last_at, now)) },
      {
        title: 'Reason',
        cell: (row) =>
          html`<a href="${path`/console/refusals/${row.id}`}">${denialName(row)}</a>${subline(denialReason(row, org.timezone))}`,
      },
      { title: 'Model', cell: (row) => row.model ?? '–' },
      { title: 'Action', cell: (row) => row.action ?? '–' },
      { title: 'Customer', cell: (row) => row.customer_id ?? '–' },
      { title: 'Workflow', cell: (row) => row.workflow ?? '–' },
      {
        title: 'API key',
        cell: (row) => html`${keyLink(row.key_id, keys)}${subline(humanize(row.operation))}`,
      },
      {
        title: 'Count',
        isNumber: true,
        cell: (row) => (row.count > 1 ? badge(`× ${count(row.count)}`) : '1'),
      },
    ],
  });
}
