/** Policies: rules on models and actions, their versions and forms. */
import { actionCard, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card, definitionList, empty, nextPage } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, time } from '../../format.ts';
import type { Field, Values } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { badge, nowrap } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { actorLink, actorsById } from '../../names.ts';
import { pathOf } from '../../operations.ts';
import { contactLink, ownerField } from '../../owner.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { conditions, effectBadge, type PolicyResponse } from './policy-labels.ts';
import { simulated } from './policy-simulation.ts';
import { variableReference } from './policy-variables.ts';

const listPath = '/console/policies';
const rulePath = `${listPath}/{policy_id}`;
/** Rules per page. */
const rulesPerPage = 200;

const fixedFields: readonly Field[] = [
  {
    name: 'effect',
    label: 'Effect',
    kind: 'select',
    required: true,
    options: [
      { value: 'block', label: 'Block' },
      { value: 'require_approval', label: 'Require approval' },
      { value: 'allow', label: 'Allow and stop' },
    ],
  },
  {
    name: 'models',
    label: 'Models',
    kind: 'list',
    whenEmpty: 'null',
    help: 'One per line; * is a wildcard. Leave blank for all models.',
    placeholder: 'gpt-4*',
  },
  {
    name: 'actions',
    label: 'Actions',
    kind: 'list',
    whenEmpty: 'null',
    help: 'One per line; * is a wildcard. Leave blank for all requests, with or without an action.',
    placeholder: 'delete_*',
  },
  {
    name: 'expression',
    label: 'Condition',
    kind: 'code',
    whenEmpty: 'null',
    help: html`A <a href="https://cel.dev" rel="noreferrer">CEL</a> expression such as
<code>cost_usd &gt; 5.0 &amp;&amp; team == "research"</code>. Leave blank to always apply.`,
  },
  {
    name: 'priority',
    label: 'Priority',
    kind: 'number',
    required: true,
    help: 'Lower numbers are evaluated first.',
  },
  {
    name: 'reason',
    label: 'Reason',
    kind: 'text',
    required: true,
    help: 'Shown to the caller when a request is blocked.',
  },
  ownerField,
  { name: 'enabled', label: 'Enabled', kind: 'checkbox' },
];

async function fields({ api }: ScreenVisit): Promise<readonly Field[]> {
  const { data } = await api.get<'policies.variables'>('/v1/meta/policy-variables');
  return fixedFields.map((field) =>
    field.name === 'expression' ? { ...field, aside: variableReference(data) } : field,
  );
}

/** The API does not accept null in a new rule: empty fields are omitted. */
function forCreation(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

const attempt = {
  label: 'Test on past runs',
  call: 'POST {org}/policies/simulate' as const,
  run: (visit: ScreenVisit, body: Record<string, unknown>) => simulated(visit, forCreation(body)),
};

export const policyScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    title: 'Create rule',
    intro: 'The first matching rule by priority decides. Requests without a match are allowed.',
    submit: 'Create rule',
    back: listPath,
    fields,
    load: async () => ({ effect: 'block', priority: '100', enabled: 'true' }),
    call: 'POST {org}/policies',
    body: forCreation,
    done: 'rule_created',
    attempt,
  }),
  ...formScreens({
    path: rulePath,
    title: 'Rule',
    intro: 'Saving creates a new version and ends approvals for the previous one.',
    submit: 'Save',
    back: listPath,
    fields,
    load: async ({ api, org, params }) =>
      ruleValues(await api.get<'policies.read'>(org.path + pathOf('/policies/{policy_id}', params))),
    call: 'PATCH {org}/policies/{policy_id}',
    done: 'saved',
    attempt,
    below: (visit, { reason }) =>
      html`${card('Versions', html`<p><a href="${pathOf(`${rulePath}/versions`, visit.params)}">Version history</a></p>`)}
${actionCard(
  'Delete',
  confirmButton(
    visit,
    { path: pathOf(`${rulePath}/delete`, visit.params), label: 'Delete rule', thing: String(reason) },
    'It stops applying with the next request. This cannot be undone.',
  ),
)}`,
  }),
  actionScreen({
    path: `${rulePath}/delete`,
    call: 'DELETE {org}/policies/{policy_id}',
    done: 'deleted',
    back: listPath,
  }),
  { path: `${rulePath}/versions`, audience: 'org', handler: versions },
];

function ruleValues(rule: PolicyResponse): Values {
  return {
    effect: rule.effect,
    models: rule.models ?? [],
    actions: rule.actions ?? [],
    expression: rule.expression ?? '',
    priority: String(rule.priority),
    reason: rule.reason,
    owner: rule.owner ?? '',
    enabled: String(rule.enabled),
  };
}

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const create = (label: string) => linkButton(visit, { path: `${listPath}/new`, label, tone: 'primary' });
  const listed = await api.get<'policies.list'>(
    link(`${org.path}/policies`, {
      ...filterQuery(query),
      sort: 'priority',
      limit: String(rulesPerPage),
    }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'No rules yet',
      'All requests are allowed. Rules block models or actions, or require approval.',
      create('Create rule'),
    ),
    caption: 'Rules',
    columns: [
      { title: 'Priority', isNumber: true, cell: (rule) => count(rule.priority) },
      {
        title: 'Effect',
        cell: (rule) => html`${effectBadge(rule.effect)}${!rule.enabled && html` ${badge('Disabled')}`}`,
      },
      { title: 'Applies to', cell: conditions },
      {
        title: 'Reason',
        cell: (rule) => html`<a href="${path`/console/policies/${rule.id}`}">${rule.reason}</a>`,
      },
      { title: 'Updated', cell: (rule) => nowrap(time(rule.updated_at, org.timezone)) },
    ],
  });
  const actions = [
    create('Create rule'),
    linkButton(visit, { path: `${listPath}/try`, label: 'Test request' }),
  ];
  return view({ title: 'Policies', actions, intro: 'Rules on models and actions, in order of evaluation.' })`
${card('Rules', body)}`;
}

async function versions({ api, org, params, query }: ScreenVisit) {
  const here = pathOf(`${rulePath}/versions`, params);
  const found = await api.get<'policies.versions'>(
    link(org.path + pathOf('/policies/{policy_id}/versions', params), {
      ...filterQuery(query),
    }),
  );
  const actors = await actorsById(
    api,
    org,
    found.data.map(({ changed_by }) => changed_by),
  );
  return view({ title: 'Rule versions', actions: buttonTo(pathOf(rulePath, params), 'Back to rule') })`
${found.data.map(({ version, changed_at, changed_by, deleted, policy }) =>
  card(
    `Version ${version}${deleted ? ', deleted' : ''}`,
    definitionList([
      ['Updated', time(changed_at, org.timezone)],
      ['Updated by', actorLink(changed_by, actors)],
      ['Effect', effectBadge(policy.effect)],
      ['Applies to', conditions(policy)],
      ['Priority', count(policy.priority)],
      ['Reason', policy.reason],
      ['Owner', policy.owner === null ? '–' : contactLink(policy.owner)],
      ['Enabled', policy.enabled ? 'yes' : 'no'],
    ]),
  ),
)}
${nextPage(here, query, found.next_cursor)}`;
}
