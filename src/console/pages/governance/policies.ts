/** Rules on models and actions: listed in the order they are looked at, written with a look at what they would change. */
import {
  actionCard,
  askFirst,
  badge,
  card,
  definitionList,
  empty,
  heading,
  linkButton,
  nextPage,
} from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, time } from '../../format.ts';
import type { Field, Values } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { simulated } from './policy-simulation.ts';
import { conditions, effectBadge, type PolicyView } from './policy-words.ts';

const listPath = '/console/policies';
const rulePath = `${listPath}/{policy_id}`;
/** Of an org there may be no more than this many rules. */
const pageOfRules = 200;

const fields: readonly Field[] = [
  {
    name: 'effect',
    label: 'Effect',
    kind: 'select',
    required: true,
    options: [
      { value: 'block', label: 'Block' },
      { value: 'require_approval', label: 'Require an approval' },
      { value: 'allow', label: 'Allow, whatever later rules say' },
    ],
  },
  {
    name: 'models',
    label: 'Models',
    kind: 'list',
    whenEmpty: 'null',
    help: 'One a line; * stands for any characters. Empty: all.',
    placeholder: 'gpt-4*',
  },
  {
    name: 'actions',
    label: 'Actions',
    kind: 'list',
    whenEmpty: 'null',
    help: 'The same, for the action that runs name. Empty: all, also none.',
    placeholder: 'delete_*',
  },
  {
    name: 'expression',
    label: 'Condition',
    kind: 'code',
    whenEmpty: 'null',
    help: html`In <a href="https://cel.dev" rel="noreferrer">CEL</a>, such as <code>cost_usd &gt; 5.0 &amp;&amp; team == "research"</code>. Empty: always.`,
  },
  {
    name: 'priority',
    label: 'Priority',
    kind: 'number',
    required: true,
    help: 'The lowest number is looked at first.',
  },
  { name: 'reason', label: 'Reason', kind: 'text', required: true, help: 'What whoever is refused is told.' },
  { name: 'enabled', label: 'In force', kind: 'checkbox' },
];

/** A rule that is made knows no null: what is empty is left out. */
function forCreation(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

const attempt = {
  label: 'Try it on past runs',
  call: 'POST {org}/policies/simulate' as const,
  run: (visit: ScreenVisit, body: Record<string, unknown>) => simulated(visit, forCreation(body)),
};

export const policyScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    title: 'New rule',
    intro:
      'Of the rules that match a request, the first one in the order of priority decides. Where none matches, it is allowed.',
    submit: 'Put it in force',
    back: listPath,
    fields: () => fields,
    load: async () => ({ effect: 'block', priority: '100', enabled: 'true' }),
    call: 'POST {org}/policies',
    body: forCreation,
    done: 'rule_created',
    attempt,
  }),
  ...formScreens({
    path: rulePath,
    title: 'Rule',
    intro: 'A changed rule has another version; approvals for the version before end.',
    submit: 'Save',
    back: listPath,
    fields: () => fields,
    load: async ({ api, org, params }) =>
      valuesOf(await api.get<'policies.read'>(org.path + pathOf('/policies/{policy_id}', params))),
    call: 'PATCH {org}/policies/{policy_id}',
    done: 'saved',
    attempt,
    below: (visit) =>
      html`${card('Versions', html`<p><a href="${pathOf(`${rulePath}/versions`, visit.params)}">What it said before, and who changed it</a></p>`)}
${actionCard('Delete', askFirst(visit, { path: pathOf(`${rulePath}/delete`, visit.params), label: 'Delete the rule' }, 'From the next request on it is not looked at any more.'))}`,
  }),
  actionScreen({
    path: `${rulePath}/delete`,
    call: 'DELETE {org}/policies/{policy_id}',
    done: 'deleted',
    back: listPath,
  }),
  { path: `${rulePath}/versions`, audience: 'org', handler: versions },
];

function valuesOf(rule: PolicyView): Values {
  return {
    effect: rule.effect,
    models: rule.models ?? [],
    actions: rule.actions ?? [],
    expression: rule.expression ?? '',
    priority: String(rule.priority),
    reason: rule.reason,
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
      limit: String(pageOfRules),
    }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'Everything is allowed',
      'A rule blocks models or actions, or wants somebody to approve first.',
      create('Write the first rule'),
    ),
    caption: 'Rules',
    columns: [
      { title: 'Priority', isNumber: true, cell: (rule) => count(rule.priority) },
      {
        title: 'Effect',
        cell: (rule) => html`${effectBadge(rule.effect)}${!rule.enabled && html` ${badge('off')}`}`,
      },
      { title: 'For', cell: conditions },
      {
        title: 'Reason',
        cell: (rule) => html`<a href="${path`/console/policies/${rule.id}`}">${rule.reason}</a>`,
      },
      {
        title: 'Changed',
        cell: (rule) => html`<span class="nowrap">${time(rule.updated_at, org.timezone)}</span>`,
      },
    ],
  });
  return view(
    'Policies',
    html`${heading('Policies', html`${create('New rule')}${linkButton(visit, { path: `${listPath}/try`, label: 'Try a request' })}`, 'Rules on models and actions, in the order in which they are looked at.')}
${card('Rules', body)}`,
  );
}

async function versions({ api, org, params, query }: ScreenVisit) {
  const here = pathOf(`${rulePath}/versions`, params);
  const found = await api.get<'policies.versions'>(
    link(org.path + pathOf('/policies/{policy_id}/versions', params), {
      ...filterQuery(query),
    }),
  );
  return view(
    'Versions of a rule',
    html`${heading('Versions of a rule', html`<a class="button" href="${pathOf(rulePath, params)}">Back to the rule</a>`)}
${found.data.map(({ version, changed_at, changed_by, deleted, policy }) =>
  card(
    `Version ${version}${deleted ? ', deleted' : ''}`,
    definitionList([
      ['Changed', time(changed_at, org.timezone)],
      ['By', html`<code>${changed_by}</code>`],
      ['Effect', effectBadge(policy.effect)],
      ['For', conditions(policy)],
      ['Priority', count(policy.priority)],
      ['Reason', policy.reason],
      ['In force', policy.enabled ? 'yes' : 'no'],
    ]),
  ),
)}
${nextPage(here, query, found.next_cursor)}`,
  );
}
