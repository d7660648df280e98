/** Forecast scenarios: forms for the most common changes. */
import { actionCard, confirmButton } from '../../buttons.ts';
import { actionScreen, type FormBody, formScreens } from '../../form-screens.ts';
import { dotted, type Field, type Values } from '../../forms.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import type { Screen } from '../../screen.ts';

const back = '/console/forecasts';
const scenarioPath = `${back}/scenarios/{scenario_id}`;

export type ScenarioResponse = Responses['capacity_scenarios.read'];

const percent: Field = { name: 'percent', label: 'Percent', kind: 'number' };
const day = { kind: 'text', placeholder: '2027-01-15' } as const;

/** Named like the fields of the API. */
const changeFields: readonly (Field & { readonly name: keyof ScenarioResponse['changes'] })[] = [
  { name: 'growth_percent_per_month', label: 'Monthly growth (%)', kind: 'number' },
  { name: 'teams', label: 'Teams', kind: 'number', help: 'Overrides the observed number.' },
  {
    name: 'model_mix',
    label: 'Shift traffic between models',
    kind: 'lines',
    help: 'Applied in this order.',
    parts: [
      { name: 'from_model', label: 'From model', kind: 'text' },
      { name: 'to_model', label: 'To model', kind: 'text' },
      percent,
    ],
  },
  {
    name: 'price_changes',
    label: 'Price changes',
    kind: 'lines',
    help: 'For example -20. Leave the model blank for all models, and the date blank for now.',
    parts: [
      { name: 'model', label: 'Model', kind: 'text' },
      percent,
      { name: 'from', label: 'From date', ...day },
    ],
  },
  {
    name: 'new_deployment',
    label: 'New deployment',
    kind: 'group',
    parts: [
      { name: 'name', label: 'Deployment name', kind: 'text' },
      { name: 'daily_cost_usd', label: 'Cost per day', kind: 'money' },
      { name: 'starts_on', label: 'Starts on', ...day },
      { name: 'ramp_days', label: 'Ramp-up (days)', kind: 'number' },
      { name: 'daily_runs', label: 'Runs per day', kind: 'number' },
      { name: 'daily_tokens', label: 'Tokens per day', kind: 'number' },
    ],
  },
];

const fields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'description', label: 'Description', kind: 'text' },
  ...changeFields,
];

function scenarioOf({ name = '', description, ...changes }: FormBody) {
  return { name, ...(description !== undefined && { description }), changes };
}

/** Parts of a scenario without a form field, which saving must keep. */
function keptParts({ changes }: ScenarioResponse): FormBody {
  return Object.fromEntries(
    Object.entries(changes).filter(([part]) => changeFields.every(({ name }) => name !== part)),
  );
}

function valuesFrom({ name, description, changes }: ScenarioResponse): Values {
  const parts = changeFields.map((field) => dotted(changes[field.name], field.name));
  return Object.assign({ name, description: description ?? '' }, ...parts);
}

export const scenarioScreens: readonly Screen[] = [
  ...formScreens({
    path: `${back}/scenarios/new`,
    title: 'Create scenario',
    intro:
      'Describe what changes; leave the rest blank. Save to get more lines. Seasonality can be set by the API.',
    submit: 'Create scenario',
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
    below: (visit, { name: thing }) =>
      actionCard(
        'Delete',
        confirmButton(
          visit,
          {
            path: `${pathOf(scenarioPath, visit.params)}/delete`,
            label: 'Delete scenario',
            thing: String(thing),
          },
          'It will be deleted for the entire organization.',
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
