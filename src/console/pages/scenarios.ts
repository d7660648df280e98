/** Scenarios: what would be different, as a form with the changes that people ask for most. */
import { askFirst, card } from '../components.ts';
import { actionScreen, formScreens, pathOf } from '../editing.ts';
import type { Field, Values } from '../forms.ts';
import type { Screen } from '../screen.ts';

const back = '/console/forecasts';
const scenarioPath = `${back}/scenarios/{scenario_id}`;

interface Changes {
  readonly growth_percent_per_month?: number;
  readonly teams?: number;
  readonly model_mix?: readonly {
    readonly from_model: string;
    readonly to_model: string;
    readonly percent: number;
  }[];
  readonly price_changes?: readonly {
    readonly model?: string;
    readonly percent: number;
    readonly from?: string;
  }[];
  readonly new_deployment?: {
    readonly name: string;
    readonly daily_cost_usd: string;
    readonly starts_on?: string;
  };
}

export interface ScenarioView {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly changes: Changes;
}

const fields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'description', label: 'Description', kind: 'text' },
  { name: 'growth', label: 'Volume grows each month by, in percent', kind: 'number' },
  { name: 'teams', label: 'Teams', kind: 'number', help: 'Instead of those observed.' },
  { name: 'mix_from', label: 'Move tokens from model', kind: 'text' },
  { name: 'mix_to', label: 'to model', kind: 'text' },
  { name: 'mix_percent', label: 'in percent', kind: 'number' },
  { name: 'price_percent', label: 'Prices change by, in percent', kind: 'number', help: 'Such as -20.' },
  { name: 'price_model', label: 'of model', kind: 'text', help: 'Empty: of every model.' },
  { name: 'deployment_name', label: 'A new deployment', kind: 'text' },
  { name: 'deployment_cost', label: 'that costs each day', kind: 'money' },
  { name: 'deployment_starts', label: 'and starts on', kind: 'text', placeholder: '2027-01-15' },
];

type Body = Record<string, unknown>;

/** What is left empty is left out. */
function defined(parts: Body): Body {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}

function scenarioOf(body: Body): Body {
  const { mix_from, mix_to, mix_percent, price_percent, price_model, deployment_name, deployment_cost } =
    body;
  return defined({
    name: body.name ?? '',
    description: body.description,
    changes: defined({
      growth_percent_per_month: body.growth,
      teams: body.teams,
      model_mix:
        (mix_from ?? mix_to ?? mix_percent) === undefined
          ? undefined
          : [defined({ from_model: mix_from, to_model: mix_to, percent: mix_percent })],
      price_changes:
        price_percent === undefined ? undefined : [defined({ model: price_model, percent: price_percent })],
      new_deployment:
        (deployment_name ?? deployment_cost) === undefined
          ? undefined
          : defined({
              name: deployment_name,
              daily_cost_usd: deployment_cost,
              starts_on: body.deployment_starts,
            }),
    }),
  });
}

/** Parts of a scenario that the form has no field for; saving would lose them. */
function keptParts(changes: Changes): Body {
  const { growth_percent_per_month, teams, model_mix, price_changes, new_deployment, ...others } = changes;
  return others;
}

function valuesFrom({ name, description, changes }: ScenarioView): Values {
  const mix = changes.model_mix?.[0];
  const price = changes.price_changes?.[0];
  const deployment = changes.new_deployment;
  return {
    name,
    description: description ?? '',
    growth: String(changes.growth_percent_per_month ?? ''),
    teams: String(changes.teams ?? ''),
    mix_from: mix?.from_model ?? '',
    mix_to: mix?.to_model ?? '',
    mix_percent: String(mix?.percent ?? ''),
    price_percent: String(price?.percent ?? ''),
    price_model: price?.model ?? '',
    deployment_name: deployment?.name ?? '',
    deployment_cost: deployment?.daily_cost_usd ?? '',
    deployment_starts: deployment?.starts_on ?? '',
  };
}

export const scenarioScreens: readonly Screen[] = [
  ...formScreens({
    path: `${back}/scenarios/new`,
    title: 'New scenario',
    intro:
      'Say what would be different; leave the rest empty. The API takes more: several mixes and prices, seasons, ramps.',
    submit: 'Create the scenario',
    back,
    fields: () => fields,
    send: ({ api, org }, body) => api.send('POST', `${org.path}/capacity-scenarios`, scenarioOf(body)),
  }),
  ...formScreens({
    path: scenarioPath,
    title: 'Scenario',
    submit: 'Save',
    back,
    fields: () => fields,
    load: async ({ api, org, params }) =>
      valuesFrom(await api.get<ScenarioView>(org.path + pathOf('/capacity-scenarios/{scenario_id}', params))),
    async send({ api, org, params }, body) {
      const target = org.path + pathOf('/capacity-scenarios/{scenario_id}', params);
      const { changes } = await api.get<ScenarioView>(target);
      const next = scenarioOf(body);
      return api.send('PATCH', target, {
        description: null,
        ...next,
        changes: { ...keptParts(changes), ...(next.changes as object) },
      });
    },
    below: ({ params }) =>
      card(
        'Delete',
        askFirst(
          { path: `${pathOf(scenarioPath, params)}/delete`, label: 'Delete the scenario' },
          'It is gone for everybody in the org.',
        ),
      ),
  }),
  actionScreen({
    path: `${scenarioPath}/delete`,
    send: ({ api, org, params }) =>
      api.send('DELETE', org.path + pathOf('/capacity-scenarios/{scenario_id}', params)),
    done: 'deleted',
    back,
  }),
];
