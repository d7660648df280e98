/** For operators: what models cost, for everybody and for one organization. */
import type { Item, Responses } from '../../../contract/views/responses.ts';
import { askFirst, badge, card, empty, heading, linkButton, type Tone, table } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { exactUsd, time, words } from '../../format.ts';
import type { Field, Values } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';

const listPath = '/console/prices';
const modelPath = `${listPath}/{model}`;
const orgPricesPath = '/console/orgs/{org_id}/prices';

/** By the names of the API. */
const amounts = [
  ['input_usd_per_million', 'Input, for a million tokens'],
  ['cached_input_usd_per_million', 'Cached input, for a million tokens'],
  ['cache_write_usd_per_million', 'Writing to the cache, for a million tokens'],
  ['output_usd_per_million', 'Output, for a million tokens'],
  ['audio_input_usd_per_million', 'Audio in, for a million tokens'],
  ['audio_output_usd_per_million', 'Audio out, for a million tokens'],
  ['image_usd', 'An image'],
  ['request_usd', 'A request'],
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
  label: 'From',
  kind: 'instant',
  help: 'In UTC. Empty: from now on. Runs before keep the price they had.',
};
const modelFields: readonly Field[] = [
  { name: 'provider', label: 'Provider', kind: 'text', whenEmpty: 'null' },
  ...amountFields('input_usd_per_million'),
  effectiveFrom,
  { name: 'context_tokens', label: 'Context, in tokens', kind: 'number', whenEmpty: 'null' },
  { name: 'max_output_tokens', label: 'Output at most, in tokens', kind: 'number', whenEmpty: 'null' },
  {
    name: 'regions',
    label: 'Regions',
    kind: 'list',
    whenEmpty: 'null',
    help: 'One a line. Empty: not known.',
  },
  { name: 'capabilities', label: 'Can', kind: 'list', whenEmpty: 'null', placeholder: 'tools' },
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
    title: 'New model',
    submit: 'Put the price',
    back: listPath,
    fields: () => [{ name: 'model', label: 'Model', kind: 'text', required: true }, ...modelFields],
    call: 'PUT /v1/admin/models/{model}',
    body: ({ model: _, ...body }) => body,
  }),
  ...formScreens({
    path: modelPath,
    audience: 'operator',
    title: 'Price of a model',
    intro: 'A new price is a new version. Which version a run was priced with stands with the run.',
    submit: 'Put the price',
    back: listPath,
    fields: () => modelFields,
    load: async ({ api, params }) => {
      const found = await api.get<'models.prices.read'>(pathOf('/v1/admin/models/{model}', params));
      return {
        ...amountValues(found),
        provider: found.provider ?? '',
        context_tokens: String(found.context_tokens ?? ''),
        max_output_tokens: String(found.max_output_tokens ?? ''),
        regions: found.regions ?? [],
        capabilities: found.capabilities ?? [],
      };
    },
    call: 'PUT /v1/admin/models/{model}',
    below: ({ params }) =>
      card(
        'Versions',
        html`<p><a href="${pathOf(`${modelPath}/versions`, params)}">What it cost before, and what it will cost</a></p>`,
      ),
  }),
  { path: `${modelPath}/versions`, audience: 'operator', handler: versions },
  { path: orgPricesPath, audience: 'operator', handler: ofOrg },
  ...formScreens({
    path: `${orgPricesPath}/new`,
    audience: 'operator',
    title: 'Price for one organization',
    intro: 'A discount on what everybody pays, or amounts of its own.',
    submit: 'Put the price',
    back: orgPricesPath,
    fields: () => [
      { name: 'model', label: 'Model', kind: 'text', required: true },
      { name: 'discount_percent', label: 'Discount in percent', kind: 'text', placeholder: '10' },
      ...amountFields().map(({ whenEmpty: _, ...field }) => field),
      effectiveFrom,
    ],
    call: 'PUT /v1/admin/orgs/{org_id}/prices/{model}',
    body: ({ model: _, ...body }) => body,
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
const from = {
  title: 'From',
  cell: (one: PriceView) => html`<span class="nowrap">${time(one.effective_from, 'UTC')}</span>`,
};
const state = {
  title: 'State',
  cell: (one: PriceView) => badge(words(one.status), tones[one.status] ?? 'plain'),
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
    none: empty('No models yet', 'Runs that name no cost are priced by what stands here.'),
    caption: 'Prices of models, in dollars for a million tokens',
    columns: [
      {
        title: 'Model',
        cell: (one) => html`<a href="${path`/console/prices/${one.model}`}">${one.model}</a>`,
      },
      { title: 'Provider', cell: (one) => one.provider ?? '–' },
      ...inAndOut,
      from,
      state,
    ],
  });
  return view(
    'Prices',
    html`${heading('Prices', linkButton(visit, { path: `${listPath}/new`, label: 'New model', tone: 'primary' }), 'For a million tokens, for everybody. An organization may have its own.')}
${filterBar(listPath, filters, query)}${card('Models', body)}`,
  );
}

async function versions({ api, params }: ScreenVisit) {
  const found = await api.get<'models.prices.read'>(pathOf('/v1/admin/models/{model}', params));
  return view(
    'Versions of a price',
    html`${heading('Versions of a price', html`<a class="button" href="${pathOf(modelPath, params)}">Back to ${found.model}</a>`)}
${card(found.model, table({ caption: 'Versions', rows: found.versions, columns: [from, ...inAndOut, state] }))}`,
  );
}

async function ofOrg(visit: ScreenVisit) {
  const { api, params, query } = visit;
  const here = pathOf(orgPricesPath, params);
  const listed = await api.get<'models.org_prices.list'>(
    link(pathOf('/v1/admin/orgs/{org_id}/prices', params), { ...filterQuery(query) }),
  );
  const remove = (one: OrgPriceView) =>
    askFirst(
      visit,
      { path: `${here}/${encodeURIComponent(one.model)}/remove`, label: 'Remove', about: one.model },
      'It pays what everybody pays, from now on.',
    );
  const body = listing<OrgPriceView>({
    listed,
    path: here,
    query,
    none: empty('It pays what everybody pays', 'Give it a discount, or amounts of its own.'),
    caption: 'Prices of one organization',
    columns: [
      { title: 'Model', cell: (one) => one.model },
      {
        title: 'Discount',
        isNumber: true,
        cell: (one) => (one.discount_percent === null ? '–' : `${one.discount_percent} %`),
      },
      ...inAndOut,
      from,
      state,
      { title: '', cell: remove },
    ],
  });
  return view(
    'Prices of one organization',
    html`${heading('Prices of one organization', html`${linkButton(visit, { path: `${here}/new`, label: 'New price', tone: 'primary' })}<a class="button" href="${pathOf('/console/orgs/{org_id}', params)}">Back to the organization</a>`)}
${card('Its own', body)}`,
  );
}
