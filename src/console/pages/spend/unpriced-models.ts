/** Models without a price: what happens to their calls, and which ones are used. For organizations and for operators. */
import { buttonTo, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList, empty } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import { count, exactUsd, time } from '../../format.ts';
import { html, link, type Markup } from '../../html.ts';
import { badge, nowrap } from '../../inline.ts';
import { listing } from '../../listing.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import type { Column } from '../../table.ts';
import { settingsPath, settingsTabs } from '../access/settings-tabs.ts';

const here = `${settingsPath}/unpriced-models`;
const operatorPath = '/console/unpriced-models';

type UnpricedPolicyResponse = Responses['unpriced_policy.read'];
type UnpricedModel = Item<'unpriced_models.list'>;
type UnpricedTotal = Item<'unpriced_models.totals'>;

const treatments: Readonly<
  Record<UnpricedPolicyResponse['on_unpriced'], readonly [label: string, meaning: string]>
> = {
  refuse: ['Refuse', 'Calls of models without a price are rejected, unless the request states its cost.'],
  hold_default: [
    'Charge default rates',
    'Calls of models without a price are held and charged at these rates. Their runs can be repriced later.',
  ],
  record: [
    'Record without a cost',
    'Calls of models without a price cost $0 until their runs are repriced. Limits in dollars do not stop them; limits on tokens and requests do.',
  ],
};

/** API field and label of each default rate. */
const rates = [
  ['input_usd_per_million', 'Input, per million tokens'],
  ['output_usd_per_million', 'Output, per million tokens'],
  ['cached_input_usd_per_million', 'Cached input, per million tokens'],
  ['cache_write_usd_per_million', 'Cache write, per million tokens'],
  ['audio_input_usd_per_million', 'Audio input, per million tokens'],
  ['image_input_usd_per_million', 'Image input, per million tokens'],
  ['cached_image_input_usd_per_million', 'Cached image input, per million tokens'],
  ['audio_output_usd_per_million', 'Audio output, per million tokens'],
  ['image_usd', 'Per image'],
  ['request_usd', 'Per request'],
] as const;

const filters: readonly Filter[] = [{ name: 'model', label: 'Model' }];

export const unpricedModelScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...formScreens({
    path: `${here}/edit`,
    title: 'Models without a price',
    intro: 'Applies to the next call. Open holds keep their rates.',
    submit: 'Save',
    back: here,
    fields: () => [
      {
        name: 'on_unpriced',
        label: 'Calls of models without a price',
        kind: 'select',
        required: true,
        options: Object.entries(treatments).map(([value, [label]]) => ({ value, label })),
        help: 'With “Record without a cost”, limits in dollars do not stop such calls.',
      },
      ...rates.map(([name, label], index) => ({
        name,
        label,
        kind: 'money' as const,
        ...(index < 2
          ? {
              help: 'Required to charge default rates. Choose a rate above that of your most expensive model.',
            }
          : {}),
      })),
    ],
    async load({ api, org }) {
      const policy = await api.get<'unpriced_policy.read'>(`${org.path}/unpriced-policy`);
      return {
        on_unpriced: policy.on_unpriced,
        ...Object.fromEntries(rates.map(([name]) => [name, policy[name] ?? ''])),
      };
    },
    call: 'PUT {org}/unpriced-policy',
    // Rates that are left over from `hold_default` do not apply to the other choices.
    body: ({ on_unpriced, ...given }) =>
      on_unpriced === 'hold_default' ? { on_unpriced, ...given } : { on_unpriced },
  }),
  { path: operatorPath, audience: 'operator', handler: totals },
];

async function overview(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const [policy, models] = await Promise.all([
    api.tryGet<'unpriced_policy.read'>(`${org.path}/unpriced-policy`),
    api.tryGet<'unpriced_models.list'>(link(`${org.path}/unpriced-models`, filterQuery(query))),
  ]);
  return view({
    title: 'Models without a price',
    actions: linkButton(visit, { path: `${here}/edit`, label: 'Edit' }),
  })`
${settingsTabs('/unpriced-models', visit)}
${cardOf('What happens to their calls', policy, policyDetails)}
${filterBar(here, filters, query)}${cardOf('Models used without a price', models, (listed) =>
  listing<UnpricedModel>({
    listed,
    path: here,
    query,
    none: empty('None', 'Every model that was called has a price, or the calls stated their cost.'),
    caption: 'Models used without a price',
    columns: modelColumns(org.timezone),
  }),
)}`;
}

function policyDetails(policy: UnpricedPolicyResponse): Markup {
  const [label, meaning] = treatments[policy.on_unpriced];
  const set = rates.filter(([name]) => policy[name] !== null);
  return html`<p>${badge(label, policy.on_unpriced === 'record' ? 'warn' : 'plain')} ${meaning}</p>
${set.length > 0 && definitionList(set.map(([name, title]) => [title, exactUsd(policy[name])] as const))}`;
}

function countColumns<
  Row extends Pick<
    UnpricedModel,
    'runs' | 'repriced_runs' | 'input_tokens' | 'output_tokens' | 'last_used_at'
  >,
>(timezone: string): Column<Row>[] {
  return [
    { title: 'Runs', isNumber: true, cell: (one) => count(one.runs) },
    { title: 'Repriced', isNumber: true, cell: (one) => count(one.repriced_runs) },
    { title: 'Input tokens', isNumber: true, cell: (one) => count(one.input_tokens) },
    { title: 'Output tokens', isNumber: true, cell: (one) => count(one.output_tokens) },
    { title: 'Last used', cell: (one) => nowrap(time(one.last_used_at, timezone)) },
  ];
}

function modelColumns(timezone: string): Column<UnpricedModel>[] {
  return [
    {
      title: 'Model',
      cell: ({ model }) => html`<a href="${link('/console/runs', { model, unpriced: 'true' })}">${model}</a>`,
    },
    {
      title: 'Price now',
      cell: ({ priced_as }) =>
        priced_as === null ? badge('none', 'warn') : html`${badge('has a price', 'good')} ${priced_as}`,
    },
    ...countColumns<UnpricedModel>(timezone),
  ];
}

async function totals({ api, query }: ScreenVisit) {
  const listed = await api.get<'unpriced_models.totals'>(
    link('/v1/admin/unpriced-models', filterQuery(query)),
  );
  const body = listing<UnpricedTotal>({
    listed,
    path: operatorPath,
    query,
    none: empty('None', 'No organization has used a model without a price.'),
    caption: 'Models used without a price',
    columns: [
      { title: 'Model', cell: ({ model }) => model },
      { title: 'Organizations', isNumber: true, cell: (one) => count(one.organizations) },
      ...countColumns<UnpricedTotal>('UTC'),
    ],
  });
  const intro =
    'Models that organizations used without a price. Set a price so that their runs can be repriced.';
  return view({
    title: 'Models without a price',
    actions: buttonTo('/console/prices', 'Back to prices'),
    intro,
  })`
${filterBar(operatorPath, filters, query)}${card('Models', body)}`;
}
