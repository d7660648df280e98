/** For operators: retention of their audit log. */
import { badge, card, definitionList, heading, linkButton } from '../../components.ts';
import { formScreens } from '../../form-screens.ts';
import { time } from '../../format.ts';
import { html } from '../../html.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { periodText } from './settings-retention.ts';

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
  return view(
    'Retention',
    html`${heading('Retention', linkButton(visit, { path: `${here}/edit`, label: 'Edit' }), 'How long the audit log of operators is kept. Organizations set their own periods.')}
${card(
  'Retention periods',
  html`${policy.legal_hold && html`<p>${badge('Legal hold', 'warn')} All deletion is paused.</p>`}${policy.failing_since !== null && html`<p>${badge('Failing', 'bad')} Deletion has failed since ${time(policy.failing_since, 'UTC')}. It is retried every ten minutes.</p>`}${definitionList(
    [
      ['Audit log', periodText(policy.audit_days)],
      ['Last changed', time(policy.updated_at, 'UTC')],
    ],
  )}`,
)}`,
  );
}
