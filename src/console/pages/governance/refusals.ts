/** What was refused lately, and why. */
import { badge, card, empty, heading } from '../../components.ts';
import { refusalCodes, refusalReason, refusalTitle } from '../../denial-texts.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { ago, count, words } from '../../format.ts';
import { html, link } from '../../html.ts';
import { listing } from '../../listing.ts';
import { type Screen, view } from '../../screen.ts';

const path = '/console/refusals';
const filters: readonly Filter[] = [
  {
    name: 'code',
    label: 'Why',
    options: refusalCodes.map((code) => ({ value: code, label: refusalTitle(code) })),
  },
  { name: 'model', label: 'Model' },
  { name: 'customer_id', label: 'Customer' },
  { name: 'workflow', label: 'Workflow' },
];

export const refusalScreens: readonly Screen[] = [
  {
    path,
    audience: 'org',
    async handler({ api, org, query, now }) {
      const listed = await api.get<'refusals.list'>(
        link(`${org.path}/refusals`, { ...filterQuery(query), limit: '50' }),
      );
      const list = listing({
        listed,
        path,
        query,
        none: empty(
          'Nothing was refused',
          'What rates, policies, detectors and limits refuse appears here within seconds.',
        ),
        caption: 'Refusals',
        columns: [
          { title: 'When', cell: (row) => html`<span class="nowrap">${ago(row.last_at, now)}</span>` },
          {
            title: 'Why',
            cell: (row) =>
              html`<strong>${refusalTitle(row.code)}</strong><span class="sub">${refusalReason(row)}</span>`,
          },
          { title: 'Model', cell: (row) => row.model ?? '–' },
          { title: 'Action', cell: (row) => row.action ?? '–' },
          { title: 'Customer', cell: (row) => row.customer_id ?? '–' },
          { title: 'Workflow', cell: (row) => row.workflow ?? '–' },
          {
            title: 'Asked by',
            cell: (row) => html`<code>${row.key_id}</code><span class="sub">${words(row.operation)}</span>`,
          },
          {
            title: 'Times',
            isNumber: true,
            cell: (row) => (row.count > 1 ? badge(`× ${count(row.count)}`) : '1'),
          },
        ],
      });
      return view(
        'Refusals',
        html`${heading('Refusals', undefined, 'What was refused lately, and why. The latest 1,000 are kept; alike ones within a second are counted together.')}
${filterBar(path, filters, query)}${card('Latest first', list)}`,
      );
    },
  },
];
