/** Forms for what the org sets itself: budgets, the spend cap, customer limits, the chain budget. */
import { ApiFailure } from '../../api.ts';
import { actionCard, askFirst } from '../../components.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import type { Field, Values } from '../../forms.ts';
import { html, type Markup } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import type { Screen, ScreenVisit } from '../../screen.ts';

const back = '/console/limits';

const periods = ['day', 'week', 'month', 'quarter', 'year'].map((value) => ({
  value,
  label: `each ${value}`,
}));
const spending: readonly Field[] = [
  {
    name: 'limit_usd',
    label: 'Limit',
    kind: 'money',
    required: true,
    help: 'What may be spent in each window, to the ninth decimal.',
  },
  {
    name: 'period',
    label: 'Window',
    kind: 'select',
    required: true,
    options: [periods[2], periods[0], periods[1], periods[3], periods[4]].flatMap((one) => one ?? []),
  },
  {
    name: 'enforcement',
    label: 'If it would be exceeded',
    kind: 'select',
    required: true,
    options: [
      { value: 'block', label: 'Refuse the call' },
      { value: 'alert', label: 'Only tell' },
    ],
  },
  {
    name: 'alert_thresholds',
    label: 'Tell at',
    kind: 'percents',
    help: 'Percents of the limit, such as 50, 80, 100. Each sends one event per window.',
  },
  {
    name: 'timezone',
    label: 'Time zone',
    kind: 'text',
    whenEmpty: 'null',
    help: 'Empty: that of the org.',
    placeholder: 'Europe/Berlin',
  },
];
const name: Field = { name: 'name', label: 'Name', kind: 'text', required: true };

const scopeFields: readonly Field[] = [
  {
    name: 'scope_kind',
    label: 'Counts the runs of',
    kind: 'select',
    required: true,
    options: [
      { value: 'org', label: 'the whole org' },
      { value: 'workflow', label: 'a workflow' },
      { value: 'deployment', label: 'a deployment' },
      { value: 'department', label: 'a department' },
    ],
  },
  {
    name: 'scope_id',
    label: 'Which one',
    kind: 'text',
    help: 'The value that runs carry. Not for the whole org.',
  },
];

/** What a list is when nobody typed anything: the default, and not an empty one. */
function withDefaults(body: Record<string, unknown>): Record<string, unknown> {
  const { alert_thresholds: thresholds, ...rest } = body;
  return Array.isArray(thresholds) && thresholds.length === 0 ? rest : body;
}

function valuesFrom(resource: Readonly<Record<string, unknown>>): Values {
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

function deletion(path: string, question: string) {
  return (visit: ScreenVisit): Markup | false =>
    actionCard(
      'Delete',
      askFirst(
        visit,
        { path: `${pathOf(path, visit.params)}/delete`, label: 'Delete', tone: 'danger' },
        question,
      ),
    );
}

const budgets: readonly Screen[] = [
  ...formScreens({
    path: '/console/limits/budgets/new',
    title: 'New budget',
    intro: 'What the runs of the org, or of a part of it, may cost in a calendar window.',
    submit: 'Create the budget',
    back,
    fields: () => [name, ...scopeFields, ...spending],
    call: 'POST {org}/budgets',
    body: withDefaults,
    done: 'budget_created',
  }),
  ...formScreens({
    path: '/console/limits/budgets/{budget_id}',
    title: 'Budget',
    intro:
      'A change holds on the next decision. Whom it counts cannot be changed: that would be another budget.',
    submit: 'Save',
    back,
    fields: () => [name, ...spending],
    load: loader('/budgets/{budget_id}'),
    call: 'PATCH {org}/budgets/{budget_id}',
    done: 'saved',
    below: deletion(
      '/console/limits/budgets/{budget_id}',
      'Nothing will count in this budget any more, and nothing will be refused by it.',
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
  ...formScreens({
    path: '/console/limits/customers/new',
    title: 'New customer limit',
    intro: 'What the runs of an end customer may cost in a calendar window.',
    submit: 'Create the limit',
    back,
    fields: () => [
      {
        name: 'customer_id',
        label: 'Customer',
        kind: 'text',
        required: true,
        help: 'The customer_id that runs carry, or * for each customer without a limit of its own.',
      },
      ...spending,
    ],
    call: 'POST {org}/customer-limits',
    body: withDefaults,
    done: 'limit_created',
  }),
  ...formScreens({
    path: '/console/limits/customers/{limit_id}',
    title: 'Customer limit',
    submit: 'Save',
    back,
    fields: () => spending,
    load: loader('/customer-limits/{limit_id}'),
    call: 'PATCH {org}/customer-limits/{limit_id}',
    done: 'saved',
    below: deletion(
      '/console/limits/customers/{limit_id}',
      'The customer falls back to the limit for all (*), if there is one.',
    ),
  }),
  actionScreen({
    path: '/console/limits/customers/{limit_id}/delete',
    call: 'DELETE {org}/customer-limits/{limit_id}',
    done: 'deleted',
    back,
  }),
];

/** What there is one of, and what may not be there yet. */
function onlyOne(path: string) {
  return async ({ api, org }: ScreenVisit): Promise<Values> => {
    const found = await api.tryGet<LimitSettings>(org.path + path);
    if (found instanceof ApiFailure && found.code !== 'not_found') {
      throw found;
    }
    return found instanceof ApiFailure ? {} : valuesFrom(found);
  };
}

const spendCap: readonly Screen[] = [
  ...formScreens({
    path: '/console/limits/spend-cap',
    title: 'Daily spend cap',
    intro: 'What all runs of the org may cost in a day, together.',
    submit: 'Save the cap',
    back,
    fields: () => [
      { name: 'cap_usd', label: 'Cap', kind: 'money', required: true },
      ...spending.filter((field) => field.name === 'alert_thresholds' || field.name === 'timezone'),
    ],
    load: onlyOne('/spend-cap'),
    call: 'PUT {org}/spend-cap',
    body: withDefaults,
    done: 'saved',
    below: (visit) =>
      actionCard(
        'Remove',
        askFirst(
          visit,
          { path: '/console/limits/spend-cap/delete', label: 'Remove the cap', tone: 'danger' },
          'A day will not be limited any more, but for budgets.',
        ),
      ),
  }),
  actionScreen({
    path: '/console/limits/spend-cap/delete',
    call: 'DELETE {org}/spend-cap',
    done: 'deleted',
    back,
  }),
];

const chainBudget: readonly Screen[] = formScreens({
  path: '/console/limits/chain',
  title: 'Chain budget',
  intro: html`How much one chain of runs (those with the same <code>chain_id</code>) may cost, how deep it may go and how many tokens it may take. Empty: not limited.`,
  submit: 'Save',
  back,
  fields: () => [
    { name: 'max_cost_usd', label: 'Cost', kind: 'money', whenEmpty: 'null' },
    { name: 'max_depth', label: 'Depth', kind: 'number', whenEmpty: 'null' },
    { name: 'max_tokens', label: 'Tokens', kind: 'number', whenEmpty: 'null' },
  ],
  load: onlyOne('/chain-budget'),
  call: 'PUT {org}/chain-budget',
  done: 'saved',
});

export const limitFormScreens: readonly Screen[] = [
  ...budgets,
  ...customerLimits,
  ...spendCap,
  ...chainBudget,
];
