/** Recent denials and their reasons. */
import { badge, card, empty, heading } from '../../components.ts';
import { denialCodes, denialReason, denialTitle } from '../../denial-texts.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { ago, count, humanize } from '../../format.ts';
import { html, link } from '../../html.ts';
import { listing } from '../../listing.ts';
import { keyLink, keysById } from '../../names.ts';
import { type Screen, view } from '../../screen.ts';

const path = '/console/refusals';
const filters: readonly Filter[] = [
  {
    name: 'code',
    label: 'Reason',
    options: denialCodes.map((code) => ({ value: code, label: denialTitle(code) })),
  },
  { name: 'model', label: 'Model' },
  { name: 'customer_id', label: 'Customer' },
  { name: 'workflow', label: 'Workflow' },
];

export const denialScreens: readonly Screen[] = [
  {
    path,
    audience: 'org',
    async handler({ api, org, query, now }) {
      const listed = await api.get<'refusals.list'>(
        link(`${org.path}/refusals`, { ...filterQuery(query), limit: '50' }),
      );
      const keys = await keysById(
        api,
        org,
        listed.data.map(({ key_id }) => key_id),
      );
      const list = listing({
        listed,
        path,
        query,
        none: empty(
          'No blocked requests',
          'Requests blocked by limits, policies, rate limits or detectors appear here within seconds.',
        ),
        caption: 'Blocked requests',
        columns: [
          { title: 'Time', cell: (row) => html`<span class="nowrap">${ago(row.last_at, now)}</span>` },
          {
            title: 'Reason',
            cell: (row) =>
              html`<strong>${denialTitle(row.code)}</strong><span class="sub">${denialReason(row)}</span>`,
          },
          { title: 'Model', cell: (row) => row.model ?? '–' },
          { title: 'Action', cell: (row) => row.action ?? '–' },
          { title: 'Customer', cell: (row) => row.customer_id ?? '–' },
          { title: 'Workflow', cell: (row) => row.workflow ?? '–' },
          {
            title: 'API key',
            cell: (row) =>
              html`${keyLink(row.key_id, keys)}<span class="sub">${humanize(row.operation)}</span>`,
          },
          {
            title: 'Count',
            isNumber: true,
            cell: (row) => (row.count > 1 ? badge(`× ${count(row.count)}`) : '1'),
          },
        ],
      });
      return view(
        'Blocked requests',
        html`${heading('Blocked requests', undefined, 'Requests blocked by limits, policies, rate limits or detectors. The last 1,000 are kept; identical ones within a second are grouped.')}
${filterBar(path, filters, query)}${card('Recently blocked', list)}`,
      );
    },
  },
];
