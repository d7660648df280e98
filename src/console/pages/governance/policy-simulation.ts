/** Tests a draft rule on past runs, and the active rules on one request. */
import { policyDimensions, runDimensions } from '../../../contract/run-dimensions.ts';
import { ApiFailure, readPages } from '../../api.ts';
import { card, definitionList } from '../../components.ts';
import { formScreens } from '../../form-screens.ts';
import { capitalized, count, humanize, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, subline } from '../../inline.ts';
import type { Responses } from '../../responses.ts';
import type { Screen, ScreenVisit } from '../../screen.ts';
import { table } from '../../table.ts';
import { effectBadge, type PolicyResponse } from './policy-labels.ts';

const simulatedRuns = 500;

/** The draft replaces the active version of the rule, or is added to the rules. */
export async function simulated(
  { api, org, params }: ScreenVisit,
  rule: Record<string, unknown>,
): Promise<Markup | ApiFailure> {
  const active = await readPages((cursor) =>
    api.tryGet<'policies.list'>(link(`${org.path}/policies`, { limit: '200', cursor })),
  );
  if (active instanceof ApiFailure) {
    return active;
  }
  const others = active.data.filter(({ id }) => id !== params.policy_id).map(asDraft);
  const answer = await api.send<'policies.simulate'>('POST', `${org.path}/policies/simulate`, {
    rules: [...others, rule],
    runs: simulatedRuns,
  });
  // Field errors are about the list of rules; the form has the fields of one rule.
  return answer instanceof ApiFailure
    ? answer.within(`rules[${others.length}].`)
    : result(answer, org.timezone);
}

function asDraft({ effect, models, actions, expression, priority, reason, enabled }: PolicyResponse): object {
  return {
    effect,
    priority,
    reason,
    enabled,
    ...(models !== null && { models }),
    ...(actions !== null && { actions }),
    ...(expression !== null && { expression }),
  };
}

function result({ runs, changed, draft, changes }: Responses['policies.simulate'], timezone: string): Markup {
  if (runs === 0) {
    return card(
      'Test on past runs',
      html`<p class="quiet">The rule is valid. There are no runs yet to test it on.</p>`,
    );
  }
  return card(
    'Test on past runs',
    html`${definitionList([
      ['Runs tested', count(runs)],
      ['Would change', count(changed)],
      ...Object.entries(draft).map(
        ([verdict, number]) => [`Result: ${humanize(verdict)}`, count(number)] as const,
      ),
    ])}${
      changes.length > 0 &&
      table({
        caption: 'Runs with a different result',
        rows: changes,
        columns: [
          {
            title: 'Time',
            cell: (run) =>
              html`<a href="${path`/console/runs/${run.run_id}`}">${time(run.charged_at, timezone)}</a>`,
          },
          { title: 'Model', cell: (run) => run.model },
          { title: 'Action', cell: (run) => run.action ?? '–' },
          { title: 'Now', cell: (run) => effectBadge(run.now.verdict) },
          {
            title: 'With this rule',
            cell: (run) => html`${effectBadge(run.draft.verdict)}${subline(run.draft.reason)}`,
          },
        ],
      })
    }`,
  );
}

const text = (name: string, label: string): Field => ({ name, label, kind: 'text' });
const requestFields: readonly Field[] = [
  { ...text('model', 'Model'), required: true },
  ...policyDimensions
    .filter((name) => runDimensions[name].source === 'label')
    .map((name) => text(name, capitalized(runDimensions[name].noun))),
  { name: 'cost_usd', label: 'Cost', kind: 'money' },
  {
    name: 'role',
    label: 'Role of the API key',
    kind: 'select',
    options: ['member', 'viewer', 'admin', 'owner'].map((value) => ({ value, label: value })),
  },
];

export const policyTrialScreens: readonly Screen[] = formScreens<'policies.evaluate'>({
  path: '/console/policies/try',
  title: 'Test request',
  intro: 'Test a request against the active rules. Nothing is posted, and no approval is used.',
  submit: 'Test',
  back: '/console/policies',
  fields: () => requestFields,
  call: 'POST {org}/policies/evaluate',
  result: (_visit, { verdict, reason, considered }) =>
    card(
      'Result',
      html`<p>${effectBadge(verdict)} ${reason ?? 'No rule matches: allowed.'}</p>${
        considered.length > 0 &&
        table({
          caption: 'Rules in order of evaluation',
          rows: considered,
          columns: [
            { title: 'Priority', isNumber: true, cell: (rule) => count(rule.priority) },
            {
              title: 'Rule',
              cell: (rule) =>
                html`<a href="${path`/console/policies/${rule.rule_id}`}"><code>${rule.rule_id}</code></a>`,
            },
            { title: 'Effect', cell: (rule) => effectBadge(rule.effect) },
            {
              title: 'Outcome',
              cell: (rule) => badge(humanize(rule.outcome), rule.outcome === 'decided' ? 'info' : 'plain'),
            },
            { title: 'Explanation', cell: (rule) => rule.explanation },
          ],
        })
      }`,
    ),
});
