/** How long things are kept, and what was deleted because of it. */
import type { Item } from '../../../contract/views/responses.ts';
import { ApiFailure } from '../../api.ts';
import { badge, type Column, cardOf, definitionList, empty, heading, linkButton } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import { count, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link } from '../../html.ts';
import { listing } from '../../listing.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from '../access/settings-tabs.ts';

const here = `${settingsPath}/retention`;

/** By the names of the API, with what they are about. */
const periods = [
  ['runs_days', 'Runs', 'Sums and balances stay right. Empty: for good.'],
  ['content_days', 'Content of runs', '0: it is not kept in the first place.'],
  ['audit_days', 'Audit log', 'At least 30. The log goes on from a signed anchor. Empty: for good.'],
  ['deliveries_days', 'Webhook deliveries', undefined],
  ['idempotency_days', 'Answers to an Idempotency-Key', undefined],
] as const;

export const retentionScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...formScreens({
    path: `${here}/edit`,
    title: 'Retention',
    intro: 'Deleting begins within a minute of a change and cannot be undone.',
    submit: 'Save',
    back: here,
    fields: () => [
      ...periods.map(
        ([name, label, help]): Field => ({
          name,
          label: `${label}, in days`,
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
        help: 'While it stands nothing is deleted, and nobody is erased.',
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
  const page = view(
    'Retention',
    html`${heading('Retention', linkButton(visit, { path: `${here}/edit`, label: 'Change' }))}${settingsTabs('/retention')}
${cardOf('Kept for', policy, (found) => html`${found.legal_hold && html`<p>${badge('legal hold', 'warn')} Nothing is deleted while it stands.</p>`}${found.failing_since !== null && html`<p>${badge('failing', 'bad')} Deleting has failed since ${time(found.failing_since, org.timezone)}${found.failing.length > 0 && html`, of: ${found.failing.map((kind) => kind.replaceAll('_', ' ')).join(', ')}`}. It is tried again every ten minutes.</p>`}${definitionList(periods.map(([name, label]) => [label, kept(found[name])] as const))}`)}
${cardOf('What was deleted', runs, (listed) => listing({ listed, path: here, query, none: empty('Nothing yet', 'What is older than it is kept for is deleted day by day, and counted here.'), caption: 'What was deleted', columns: runColumns(org.timezone) }))}`,
  );
  // A hold or a failure keeps a deletion unfinished for as long as it lasts.
  const isStopped = policy instanceof ApiFailure || policy.legal_hold || policy.failing_since !== null;
  const goesOn =
    !isStopped && !(runs instanceof ApiFailure) && runs.data.some(({ finished_at }) => finished_at === null);
  return { ...page, goesOn };
}

function kept(days: number | null): string {
  return days === null
    ? 'for good'
    : days === 0
      ? 'not kept'
      : `${count(days)} ${days === 1 ? 'day' : 'days'}`;
}

function runColumns(timezone: string): Column<Item<'retention_policy.runs.list'>>[] {
  return [
    { title: 'When', cell: (one) => html`<span class="nowrap">${time(one.started_at, timezone)}</span>` },
    { title: 'Runs', isNumber: true, cell: ({ deleted }) => count(deleted.runs) },
    { title: 'Contents', isNumber: true, cell: ({ deleted }) => count(deleted.contents) },
    { title: 'Audit entries', isNumber: true, cell: ({ deleted }) => count(deleted.audit_entries) },
    { title: 'Support access', isNumber: true, cell: ({ deleted }) => count(deleted.support_access) },
    { title: 'Deliveries', isNumber: true, cell: ({ deleted }) => count(deleted.deliveries) },
    { title: '', cell: (one) => one.finished_at === null && badge('goes on', 'info') },
  ];
}
