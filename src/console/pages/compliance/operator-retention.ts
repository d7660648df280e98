/** For operators: retention of their audit log. */
import { linkButton } from '../../buttons.ts';
import { card, definitionList } from '../../components.ts';
import { formScreens } from '../../form-screens.ts';
import { time } from '../../format.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { pauses, periodText } from './settings-retention.ts';

const here = '/console/retention';
const apiPath = '/v1/admin/retention-policy';

export const operatorRetentionScreens: readonly Screen[] = [
  { path: here, audience: 'operator', handler: overview },
  ...formScreens({
    path: `${here}/edit`,
    audience: 'operator',
    title: 'Edit retention',
    intro: 'Deletion starts within a minute of a change and cannot be undone.',
    submit: 'Save',
    back: here,
    fields: () => [
      {
        name: 'audit_days',
        label: 'Audit log (days)',
        kind: 'number',
        whenEmpty: 'null',
        help: 'At least 30. The log continues from a signed anchor. Leave blank to keep entries forever.',
      },
      { name: 'legal_hold', label: 'Legal hold', kind: 'checkbox', help: 'Pauses all deletion.' },
    ],
    async load({ api }) {
      const { audit_days, legal_hold } = await api.get<'platform_retention.read'>(apiPath);
      return { audit_days: String(audit_days ?? ''), legal_hold: String(legal_hold) };
    },
    call: `PUT ${apiPath}`,
  }),
];

async function overview(visit: ScreenVisit) {
  const policy = await visit.api.get<'platform_retention.read'>(apiPath);
  const edit = linkButton(visit, { path: `${here}/edit`, label: 'Edit' });
  const intro = 'How long the audit log of operators is kept. Organizations set their own periods.';
  const values = definitionList([
    ['Audit log', periodText(policy.audit_days)],
    ['Last changed', time(policy.updated_at, 'UTC')],
  ]);
  return view({ title: 'Retention', actions: edit, intro })`
${card('Retention periods', [pauses(policy, 'UTC'), values])}`;
}
