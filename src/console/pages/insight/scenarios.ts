/** Scenarios: what would be different, as a form with the changes that people ask for most. */
import type { Responses } from '../../../contract/views/responses.ts';
import { actionCard, askFirst } from '../../components.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { dotted, type Field, type Values } from '../../forms.ts';
import { pathOf } from '../../operations.ts';
import type { Screen } from '../../screen.ts';

const back = '/console/forecasts';
const scenarioPath = `${back}/scenarios/{scenario_id}`;

export type ScenarioView = Responses['capacity_scenarios.read'];

const percent: Field = { name: 'percent', label: 'Percent', kind: 'number' };
const day = { kind: 'text', placeholder: '2027-01-15' } as const;

/** Named as the API names them. */
const changeFields: readonly (Field & { readonly name: keyof ScenarioView['changes'] })[] = [
  { name: 'growth_percent_per_month', label: 'Volume grows each month by, in percent', kind: 'number' },
  { name: 'teams', label: 'Teams', kind: 'number', help: 'Instead of those observed.' },
  {
    name: 'model_mix',
    label: 'Tokens that go to another model',
    kind: 'lines',
    help: 'Taken one after the other, in this order.',
    parts: [
      { name: 'from_model', label: 'From model', kind: 'text' },
      { name: 'to_model', label: 'To model', kind: 'text' },
      percent,
    ],
  },
  {
    name: 'price_changes',
    label: 'Prices that change',
    kind: 'lines',
    help: 'Percents such as -20. Without a model, the prices of all of them; without a day, at once.',
    parts: [
      { name: 'model', label: 'Of model', kind: 'text' },
      percent,
      { name: 'from', label: 'From day', ...day },
    ],
  },
  {
    name: 'new_deployment',
    label: 'A new deployment',
    kind: 'group',
    parts: [
      { name: 'name', label: 'Its name', kind: 'text' },
      { name: 'daily_cost_usd', label: 'Costs each day', kind: 'money' },
      { name: 'starts_on', label: 'Starts on', ...day },
      { name: 'ramp_days', label: 'Days until it is in full use', kind: 'number' },
      { name: 'daily_runs', label: 'Runs a day', kind: 'number' },
      { name: 'daily_tokens', label: 'Tokens a day', kind: 'number' },
    ],
  },
];

const fields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'description', label: 'Description', kind: 'text' },
  ...changeFields,
];

type Body = Record<string, unknown>;

function scenarioOf({ name = '', description, ...changes }: Body) {
  return { name, ...(description !== undefined && { description }), changes };
}

/** Parts of a scenario that the form has no field for; saving would lose them. */
function keptParts({ changes }: ScenarioView): Body {
  return Object.fromEntries(
    Object.entries(changes).filter(([part]) => changeFields.every(({ name }) => name !== part)),
  );
}

function valuesFrom({ name, description, changes }: ScenarioView): Values {
  const parts = changeFields.map((field) => dotted(changes[field.name], field.name));
  return Object.assign({ name, description: description ?? '' }, ...parts);
}

export const scenarioScreens: readonly Screen[] = [
  ...formScreens({
    path: `${back}/scenarios/new`,
    title: 'New scenario',
    intro:
      'Say what would be different; leave the rest empty. When all lines are full, save it and come back for more. The API takes seasons as well.',
    submit: 'Create the scenario',
    back,
    fields: () => fields,
    call: 'POST {org}/capacity-scenarios',
    body: scenarioOf,
    within: 'changes.',
  }),
  ...formScreens({
    path: scenarioPath,
    title: 'Scenario',
    submit: 'Save',
    back,
    fields: () => fields,
    load: async ({ api, org, params }) =>
      valuesFrom(
        await api.get<'capacity_scenarios.read'>(
          org.path + pathOf('/capacity-scenarios/{scenario_id}', params),
        ),
      ),
    call: 'PATCH {org}/capacity-scenarios/{scenario_id}',
    async body(body, { api, org, params }) {
      const target = org.path + pathOf('/capacity-scenarios/{scenario_id}', params);
      const kept = keptParts(await api.get<'capacity_scenarios.read'>(target));
      const { changes, ...next } = scenarioOf(body);
      return { description: null, ...next, changes: { ...kept, ...changes } };
    },
    within: 'changes.',
    below: (visit) =>
      actionCard(
        'Delete',
        askFirst(
          visit,
          { path: `${pathOf(scenarioPath, visit.params)}/delete`, label: 'Delete the scenario' },
          'It is gone for everybody in the org.',
        ),
      ),
  }),
  actionScreen({
    path: `${scenarioPath}/delete`,
    call: 'DELETE {org}/capacity-scenarios/{scenario_id}',
    done: 'deleted',
    back,
  }),
];
