/** For operators: model prices, standard and per organization. */
import { buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card, empty } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { exactUsd, humanize, time } from '../../format.ts';
import type { Field, Values } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { badge, nowrap, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import { bodyWithUnits, termFields, termSummary, termValues } from './price-terms.ts';

const listPath = '/console/prices';
const modelPath = `${listPath}/{model}`;
const orgPricesPath = '/console/orgs/{org_id}/prices';

/** API field and label of each rate. */
const amounts = [
  ['input_usd_per_million', 'Input, per million tokens'],
  ['cached_input_usd_per_million', 'Cached input, per million tokens'],
  ['cache_write_usd_per_million', 'Cache write, per million tokens'],
  ['output_usd_per_million', 'Output, per million tokens'],
  ['audio_input_usd_per_million', 'Audio input, per million tokens'],
  ['image_input_usd_per_million', 'Image input, per million tokens'],
  ['cached_image_input_usd_per_million', 'Cached image input, per million tokens'],
  ['audio_output_usd_per_million', 'Audio output, per million tokens'],
  ['image_usd', 'Per image'],
  ['request_usd', 'Per request'],
] as const;

type OrgPriceView = Item<'models.org_prices.list'>;
type PriceView =
  | Item<'models.prices.list'>
  | OrgPriceView
  | Responses['models.prices.read']['versions'][number];

const amountFields = (required?: 'input_usd_per_million'): Field[] =>
  amounts.map(([name, label]) =>
    name === required
      ? { name, label, kind: 'money', required: true }
      : { name, label, kind: 'money', whenEmpty: 'null' },
  );
const effectiveFrom: Field = {
  name: 'effective_from',
  label: 'Effective from',
  kind: 'instant',
  help: 'In UTC. Defaults to now. Earlier runs keep their price.',
};
const modelFields: readonly Field[] = [
  { name: 'provider', label: 'Provider', kind: 'text', whenEmpty: 'null' },
  ...amountFields('input_usd_per_million'),
  ...termFields,
  effectiveFrom,
  {
    name: 'follows_updates',
    label: 'Follow price updates',
    kind: 'checkbox',
    help: 'Price updates may replace this price. Otherwise it is kept until you change it.',
  },
  { name: 'context_tokens', label: 'Context window (tokens)', kind: 'number', whenEmpty: 'null' },
  { name: 'max_output_tokens', label: 'Max output tokens', kind: 'number', whenEmpty: 'null' },
  {
    name: 'regions',
    label: 'Regions',
    kind: 'list',
    whenEmpty: 'null',
    help: 'One per line. Leave blank if unknown.',
  },
  { name: 'capabilities', label: 'Capabilities', kind: 'list', whenEmpty: 'null', placeholder: 'tools' },
  { name: 'aliases', label: 'Other names', kind: 'list', whenEmpty: 'null', help: 'One per line.' },
  {
    name: 'patterns',
    label: 'Patterns of other names',
    kind: 'list',
    whenEmpty: 'null',
    help: 'One per line. An asterisk stands for any characters, as in acme-large-*.',
  },
];

const filters: readonly Filter[] = [
  { name: 'model', label: 'Model' },
  { name: 'provider', label: 'Provider' },
];

export const operatorPriceScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    audience: 'operator',
    title: 'Create model',
    submit: 'Save price',
    back: listPath,
    fields: () => [{ name: 'model', label: 'Model', kind: 'text', required: true }, ...modelFields],
    call: 'PUT /v1/admin/models/{model}',
    body: ({ model: _, ...body }) => bodyWithUnits(body),
  }),
  ...formScreens({
    path: modelPath,
    audience: 'operator',
    title: 'Model price',
    intro: 'Saving creates a new version. Each run keeps the version it was priced with.',
    submit: 'Save price',
    back: listPath,
    fields: () => modelFields,
    load: async ({ api, params }) => {
      const found = await api.get<'models.prices.read'>(pathOf('/v1/admin/models/{model}', params));
      return {
        ...amountValues(found),
        ...termValues(found),
        provider: found.provider ?? '',
        follows_updates: String(found.follows_updates),
        context_tokens: String(found.context_tokens ?? ''),
        max_output_tokens: String(found.max_output_tokens ?? ''),
        regions: found.regions ?? [],
        capabilities: found.capabilities ?? [],
        aliases: found.aliases,
        patterns: found.patterns,
      };
    },
    call: 'PUT /v1/admin/models/{model}',
    body: bodyWithUnits,
    below: ({ params }) =>
      card('Versions', html`<p><a href="${pathOf(`${modelPath}/versions`, params)}">Version history</a></p>`),
  }),
  { path: `${modelPath}/versions`, audience: 'operator', handler: versions },
  { path: orgPricesPath, audience: 'operator', handler: ofOrg },
  ...formScreens({
    path: `${orgPricesPath}/new`,
    audience: 'operator',
    title: 'Custom price',
    intro: 'A discount on the standard price, or custom rates.',
    submit: 'Save price',
    back: orgPricesPath,
    fields: () => [
      { name: 'model', label: 'Model', kind: 'text', required: true },
      { name: 'discount_percent', label: 'Discount (%)', kind: 'text', placeholder: '10' },
      ...amountFields().map(({ whenEmpty: _, ...field }) => field),
      ...termFields,
      effectiveFrom,
    ],
    call: 'PUT /v1/admin/orgs/{org_id}/prices/{model}',
    body: ({ model: _, ...body }) => bodyWithUnits(body),
  }),
  actionScreen({
    path: `${orgPricesPath}/{model}/remove`,
    audience: 'operator',
    call: 'DELETE /v1/admin/orgs/{org_id}/prices/{model}',
    done: 'deleted',
    back: orgPricesPath,
  }),
];

function amountValues(price: Pick<PriceView, (typeof amounts)[number][0]>): Values {
  return Object.fromEntries(amounts.map(([name]) => [name, price[name] ?? '']));
}

const tones: Readonly<Record<string, Tone>> = { in_force: 'good', scheduled: 'info' };

const inAndOut = [
  { title: 'Input', isNumber: true, cell: (one: PriceView) => exactUsd(one.input_usd_per_million) },
  { title: 'Output', isNumber: true, cell: (one: PriceView) => exactUsd(one.output_usd_per_million) },
] as const;
const terms = { title: 'Other terms', cell: (one: PriceView) => termSummary(one) };
const from = {
  title: 'Effective from',
  cell: (one: PriceView) => nowrap(time(one.effective_from, 'UTC')),
};
const status = {
  title: 'Status',
  cell: (one: PriceView) => badge(humanize(one.status), tones[one.status] ?? 'plain'),
};

const setBy = {
  title: 'Set by',
  cell: (one: Responses['models.prices.read']['versions'][number]) =>
    one.source ?? (one.follows_updates ? 'Catalog' : 'Operator'),
};

async function list(visit: ScreenVisit) {
  const { api, query } = visit;
  const listed = await api.get<'models.prices.list'>(
    link('/v1/admin/models', { ...filterQuery(query), sort: 'model', limit: '50' }),
  );
  const body = listing<Item<'models.prices.list'>>({
    listed,
    path: listPath,
    query,
    none: empty('No models yet', 'Runs without a reported cost are priced by these prices.'),
    caption: 'Model prices in US dollars per million tokens',
    columns: [
      {
        title: 'Model',
        cell: (one) => html`<a href="${path`/console/prices/${one.model}`}">${one.model}</a>`,
      },
      { title: 'Provider', cell: (one) => one.provider ?? '–' },
      ...inAndOut,
      terms,
      from,
      status,
    ],
  });
  const actions = [
    linkButton(visit, { path: `${listPath}/new`, label: 'Create model', tone: 'primary' }),
    buttonTo(`${listPath}/changes`, 'Price changes'),
    buttonTo('/console/unpriced-models', 'Models without a price'),
  ];
  return view({
    title: 'Prices',
    actions,
    intro: 'Standard prices per million tokens. Organizations may have custom prices.',
  })`
${filterBar(listPath, filters, query)}${card('Models', body)}`;
}

async function versions({ api, params }: ScreenVisit) {
  const found = await api.get<'models.prices.read'>(pathOf('/v1/admin/models/{model}', params));
  return view({
    title: 'Price versions',
    actions: buttonTo(pathOf(modelPath, params), `Back to ${found.model}`),
  })`
${card(
  found.model,
  table({
    caption: 'Versions',
    rows: found.versions,
    columns: [from, ...inAndOut, terms, status, setBy],
  }),
)}`;
}

async function ofOrg(visit: ScreenVisit) {
  const { api, params, query } = visit;
  const here = pathOf(orgPricesPath, params);
  const listed = await api.get<'models.org_prices.list'>(
    link(pathOf('/v1/admin/orgs/{org_id}/prices', params), { ...filterQuery(query) }),
  );
  const remove = (one: OrgPriceView) =>
    confirmButton(
      visit,
      {
        path: `${here}/${encodeURIComponent(one.model)}/remove`,
        label: 'Remove',
        about: one.model,
        thing: one.model,
      },
      'The standard price will apply from now on.',
    );
  const body = listing<OrgPriceView>({
    listed,
    path: here,
    query,
    none: empty('No custom prices', 'The organization pays standard prices. Add a discount or custom rates.'),
    caption: 'Custom prices',
    columns: [
      { title: 'Model', cell: (one) => one.model },
      {
        title: 'Discount',
        isNumber: true,
        cell: (one) => (one.discount_percent === null ? '–' : `${one.discount_percent}%`),
      },
      ...inAndOut,
      terms,
      from,
      status,
      { title: '', cell: remove },
    ],
  });
  const actions = [
    linkButton(visit, { path: `${here}/new`, label: 'Create price', tone: 'primary' }),
    buttonTo(pathOf('/console/orgs/{org_id}', params), 'Back to organization'),
  ];
  return view({ title: 'Custom prices', actions })`
${card('Custom prices', body)}`;
}
