/** Retention periods and deletion history. */
import { ApiFailure } from '../../api.ts';
import { linkButton } from '../../buttons.ts';
import { cardOf, definitionList, empty } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import { count, humanize, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Part } from '../../html.ts';
import { badge, nowrap } from '../../inline.ts';
import { listing } from '../../listing.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import type { Column } from '../../table.ts';
import { settingsPath, settingsTabs } from '../access/settings-tabs.ts';

const here = `${settingsPath}/retention`;

/** API field, label and help of each retention period. */
const periods = [
  ['runs_days', 'Runs', 'Totals and balances are kept. Leave blank to keep runs forever.'],
  ['content_days', 'Content of runs', '0 = not stored.'],
  [
    'audit_days',
    'Audit log',
    'At least 30. The log continues from a signed anchor. Leave blank to keep entries forever.',
  ],
  ['deliveries_days', 'Webhook deliveries', undefined],
  ['idempotency_days', 'Idempotency records', undefined],
] as const;

export const retentionScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...formScreens({
    path: `${here}/edit`,
    title: 'Retention',
    intro: 'Deletion starts within a minute of a change and cannot be undone.',
    submit: 'Save',
    back: here,
    fields: () => [
      ...periods.map(
        ([name, label, help]): Field => ({
          name,
          label: `${label} (days)`,
          kind: 'number',
          ...(help !== undefined && { help }),
          ...(name === 'runs_days' || name === 'audit_days'
            ? { whenEmpty: 'null' as const }
            : { required: true as const }),
        }),
      ),
      {
        name: 'legal_hold',
        label: 'Legal hold',
        kind: 'checkbox',
        help: 'Pauses all deletion and erasure.',
      },
    ],
    async load({ api, org }) {
      const policy = await api.get<'retention_policy.read'>(`${org.path}/retention-policy`);
      return {
        ...Object.fromEntries(periods.map(([name]) => [name, String(policy[name] ?? '')])),
        legal_hold: String(policy.legal_hold),
      };
    },
    call: 'PUT {org}/retention-policy',
  }),
];

async function overview(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const [policy, runs] = await Promise.all([
    api.tryGet<'retention_policy.read'>(`${org.path}/retention-policy`),
    api.tryGet<'retention_policy.runs.list'>(
      link(`${org.path}/retention-runs`, { ...filterQuery(query), sort: '-started_at' }),
    ),
  ]);
  // A legal hold or a failure leaves a deletion unfinished for as long as it lasts.
  const isPaused = policy instanceof ApiFailure || policy.legal_hold || policy.failing_since !== null;
  const autoRefresh =
    !isPaused && !(runs instanceof ApiFailure) && runs.data.some(({ finished_at }) => finished_at === null);
  const actions = linkButton(visit, { path: `${here}/edit`, label: 'Edit' });
  return view({ title: 'Retention', actions, autoRefresh })`
${settingsTabs('/retention', visit)}
${cardOf('Retention periods', policy, (found) => [
  pauses(found, org.timezone),
  definitionList(periods.map(([name, label]) => [label, periodText(found[name])] as const)),
])}
${cardOf('Deletion history', runs, (listed) =>
  listing({
    listed,
    path: here,
    query,
    none: empty('No deletions yet', 'Data past its retention period is deleted daily and listed here.'),
    caption: 'Deletion history',
    columns: runColumns(org.timezone),
  }),
)}`;
}

type Pauses = Pick<Responses['retention_policy.read'], 'legal_hold' | 'failing_since'> & {
  /** The kinds of data whose deletion fails. */
  readonly failing?: readonly string[];
};

/** The reasons why nothing is deleted. */
export function pauses({ legal_hold, failing_since, failing = [] }: Pauses, timezone: string): Part {
  const kinds = failing.length > 0 && ` for ${failing.map(humanize).join(', ')}`;
  return [
    legal_hold && html`<p>${badge('legal hold', 'warn')} All deletion is paused.</p>`,
    failing_since !== null &&
      html`<p>${badge('failing', 'bad')} Deletion has failed since ${time(failing_since, timezone)}${kinds}.
It is retried every ten minutes.</p>`,
  ];
}

export function periodText(days: number | null): string {
  return days === null
    ? 'Forever'
    : days === 0
      ? 'Not stored'
      : `${count(days)} ${days === 1 ? 'day' : 'days'}`;
}

function runColumns(timezone: string): Column<Item<'retention_policy.runs.list'>>[] {
  return [
    { title: 'Time', cell: (one) => nowrap(time(one.started_at, timezone)) },
    { title: 'Runs', isNumber: true, cell: ({ deleted }) => count(deleted.runs) },
    { title: 'Contents', isNumber: true, cell: ({ deleted }) => count(deleted.contents) },
    { title: 'Audit entries', isNumber: true, cell: ({ deleted }) => count(deleted.audit_entries) },
    { title: 'Support access', isNumber: true, cell: ({ deleted }) => count(deleted.support_access) },
    { title: 'Deliveries', isNumber: true, cell: ({ deleted }) => count(deleted.deliveries) },
    { title: '', cell: (one) => one.finished_at === null && badge('in progress', 'info') },
  ];
}
