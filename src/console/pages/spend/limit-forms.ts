/** Forms for limits that the organization sets: budgets, spend cap, customer limits and chain limit. */
import { ApiFailure } from '../../api.ts';
import { actionCard, confirmButton, linkButton } from '../../buttons.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import type { Field, Values } from '../../forms.ts';
import { html, link, type Markup } from '../../html.ts';
import { limitPath, scopeKindOptions } from '../../limit-names.ts';
import { pathOf } from '../../operations.ts';
import type { FormOutcome } from '../../outcomes.ts';
import { ownerField } from '../../owner.ts';
import { type Screen, type ScreenVisit, seeOther } from '../../screen.ts';
import { customerSuggestions, scopeSuggestions } from './limit-suggestions.ts';

const back = '/console/limits';

const periods = [
  { value: 'month', label: 'Monthly' },
  { value: 'day', label: 'Daily' },
  { value: 'week', label: 'Weekly' },
  { value: 'quarter', label: 'Quarterly' },
  { value: 'year', label: 'Yearly' },
];
const spending: readonly Field[] = [
  {
    name: 'limit_usd',
    label: 'Limit',
    kind: 'money',
    required: true,
    help: 'Amount per period, with up to nine decimals.',
  },
  {
    name: 'period',
    label: 'Period',
    kind: 'select',
    required: true,
    options: periods,
  },
  {
    name: 'enforcement',
    label: 'When exceeded',
    kind: 'select',
    required: true,
    options: [
      { value: 'block', label: 'Block requests' },
      { value: 'alert', label: 'Alert only' },
    ],
  },
  {
    name: 'alert_thresholds',
    label: 'Alert at (%)',
    kind: 'percents',
    help: 'For example 50, 80, 100. Sends one event per threshold and period.',
  },
  {
    name: 'timezone',
    label: 'Time zone',
    kind: 'text',
    whenEmpty: 'null',
    help: 'Defaults to the time zone of the organization.',
    placeholder: 'Europe/Berlin',
  },
  ownerField,
];
const name: Field = { name: 'name', label: 'Name', kind: 'text', required: true };

const scopeFields: readonly Field[] = [
  {
    name: 'scope_kind',
    label: 'Applies to',
    kind: 'select',
    required: true,
    options: [...scopeKindOptions, { value: 'tag', label: 'Tag' }],
  },
  { name: 'tag_name', label: 'Tag name', kind: 'text', help: 'Only for tags.' },
  {
    name: 'scope_id',
    label: 'Value',
    kind: 'text',
    help: 'As sent with runs, or the ID of the API key. Enter * for a budget per value. Leave blank for the entire organization.',
  },
];

/** Joins the kind and the name of a tag, which the API takes as one field. */
function budgetBody({ tag_name = '', ...body }: Record<string, unknown>): Record<string, unknown> {
  const isTag = body.scope_kind === 'tag';
  return withDefaults(isTag ? { ...body, scope_kind: `tag:${tag_name}` } : body);
}

/** Omits an empty list of thresholds, so that the API uses its default. */
function withDefaults(body: Record<string, unknown>): Record<string, unknown> {
  const { alert_thresholds: thresholds, ...rest } = body;
  return Array.isArray(thresholds) && thresholds.length === 0 ? rest : body;
}

function valuesFrom(resource: object): Values {
  return Object.fromEntries(
    Object.entries(resource).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.join(', ') : value === null ? '' : String(value),
    ]),
  );
}

type LimitSettings = 'budgets.read' | 'customer_limits.read' | 'spend_cap.read' | 'chain_budget.read';

function loader(path: string) {
  return async ({ api, org, params }: ScreenVisit) =>
    valuesFrom(await api.get<LimitSettings>(org.path + pathOf(path, params)));
}

/** A link to the form that raises the limit for a while, which is often meant where people change a limit. */
function raiseCard(visit: ScreenVisit, path: string): Markup | false {
  return actionCard(
    'Raise for a while',
    linkButton(visit, { path: `${pathOf(path, visit.params)}/raises/new`, label: 'Raise until …' }),
    html`<p>More until a time. The raise ends by itself, and the limit stays as it is.</p>`,
  );
}

/** `nameField`: the field that names the limit. */
function deletion(path: string, label: string, nameField: string, question: string) {
  return (visit: ScreenVisit, stored: Values): Markup =>
    html`${raiseCard(visit, path)}${actionCard(
      'Delete',
      confirmButton(
        visit,
        {
          path: `${pathOf(path, visit.params)}/delete`,
          label,
          tone: 'danger',
          thing: String(stored[nameField] ?? ''),
        },
        question,
      ),
    )}`;
}

/** Opens the page of the limit that a form created. */
function openCreated(done: FormOutcome) {
  return async (_: ScreenVisit, created: { readonly id: string }) =>
    seeOther(link(limitPath(created), { done }));
}

const budgets: readonly Screen[] = [
  ...formScreens<'budgets.create'>({
    path: '/console/limits/budgets/new',
    title: 'Create budget',
    intro: 'Limit spend per calendar period.',
    submit: 'Create budget',
    back,
    async fields(visit) {
      const suggestions = await scopeSuggestions(visit);
      return [
        name,
        ...scopeFields.map((field) => (field.name === 'scope_id' ? { ...field, suggestions } : field)),
        ...spending,
      ];
    },
    call: 'POST {org}/budgets',
    body: budgetBody,
    show: openCreated('budget_created'),
  }),
  ...formScreens({
    path: '/console/limits/budgets/{budget_id}',
    title: 'Budget',
    intro: 'Changes apply to the next request. The scope cannot be changed; create a new budget instead.',
    submit: 'Save',
    back: '/console/limits/{budget_id}',
    fields: () => [name, ...spending],
    load: loader('/budgets/{budget_id}'),
    call: 'PATCH {org}/budgets/{budget_id}',
    done: 'saved',
    below: deletion(
      '/console/limits/budgets/{budget_id}',
      'Delete budget',
      'name',
      'The budget will stop limiting spend. This cannot be undone.',
    ),
  }),
  actionScreen({
    path: '/console/limits/budgets/{budget_id}/delete',
    call: 'DELETE {org}/budgets/{budget_id}',
    done: 'deleted',
    back,
  }),
];

const customerLimits: readonly Screen[] = [
  ...formScreens<'customer_limits.create'>({
    path: '/console/limits/customers/new',
    title: 'Create customer limit',
    intro: 'Limit the spend of a customer per calendar period.',
    submit: 'Create limit',
    back,
    fields: async (visit) => [
      {
        name: 'customer_id',
        label: 'Customer',
        kind: 'text',
        required: true,
        suggestions: await customerSuggestions(visit),
        help: 'The customer_id of runs, or * as the default for all other customers.',
      },
      ...spending,
    ],
    call: 'POST {org}/customer-limits',
    body: withDefaults,
    show: openCreated('limit_created'),
  }),
  ...formScreens({
    path: '/console/limits/customers/{limit_id}',
    title: 'Customer limit',
    submit: 'Save',
    back: '/console/limits/{limit_id}',
    fields: () => spending,
    load: loader('/customer-limits/{limit_id}'),
    call: 'PATCH {org}/customer-limits/{limit_id}',
    done: 'saved',
    below: deletion(
      '/console/limits/customers/{limit_id}',
      'Delete limit of',
      'customer_id',
      'The default customer limit (*), if any, applies instead.',
    ),
  }),
  actionScreen({
    path: '/console/limits/customers/{limit_id}/delete',
    call: 'DELETE {org}/customer-limits/{limit_id}',
    done: 'deleted',
    back,
  }),
];

/** Loads a limit that exists at most once per organization. */
function singletonLoader(path: string) {
  return async ({ api, org }: ScreenVisit): Promise<Values> => {
    const found = await api.tryGet<LimitSettings>(org.path + path);
    if (found instanceof ApiFailure && found.code !== 'not_found') {
      throw found;
    }
    return found instanceof ApiFailure ? {} : valuesFrom(found);
  };
}

/** Only an existing cap has an ID. An empty list of its thresholds means no alerts, not the default of a new cap. */
const capId: Field = { name: 'id', label: 'ID', kind: 'hidden' };

const spendCap: readonly Screen[] = [
  ...formScreens({
    path: '/console/limits/spend-cap',
    title: 'Daily spend cap',
    intro: 'Limit the total spend of the organization per day.',
    submit: 'Save spend cap',
    back,
    fields: () => [
      capId,
      { name: 'cap_usd', label: 'Cap', kind: 'money', required: true },
      ...spending.filter((field) => ['alert_thresholds', 'timezone', 'owner'].includes(field.name)),
    ],
    load: singletonLoader('/spend-cap'),
    call: 'PUT {org}/spend-cap',
    body: ({ id, ...cap }) => (id === undefined ? withDefaults(cap) : cap),
    done: 'saved',
    below: (visit) =>
      html`${raiseCard(visit, '/console/limits/spend-cap')}${actionCard(
        'Remove',
        confirmButton(
          visit,
          { path: '/console/limits/spend-cap/delete', label: 'Remove spend cap', tone: 'danger' },
          'Daily spend will no longer be capped. Budgets still apply.',
        ),
      )}`,
  }),
  actionScreen({
    path: '/console/limits/spend-cap/delete',
    call: 'DELETE {org}/spend-cap',
    done: 'deleted',
    back,
  }),
];

const chainLimit: readonly Screen[] = formScreens({
  path: '/console/limits/chain',
  title: 'Chain limit',
  intro: html`Limits per chain, the runs with the same <code>chain_id</code>. Leave blank for unlimited.`,
  submit: 'Save',
  back,
  fields: () => [
    { name: 'max_cost_usd', label: 'Max cost', kind: 'money', whenEmpty: 'null' },
    { name: 'max_depth', label: 'Max depth', kind: 'number', whenEmpty: 'null' },
    { name: 'max_tokens', label: 'Max tokens', kind: 'number', whenEmpty: 'null' },
  ],
  load: singletonLoader('/chain-budget'),
  call: 'PUT {org}/chain-budget',
  done: 'saved',
});

export const limitFormScreens: readonly Screen[] = [
  ...budgets,
  ...customerLimits,
  ...spendCap,
  ...chainLimit,
];
