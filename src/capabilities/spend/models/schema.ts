import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { servedRegion, serviceWord } from '../../../ledger/service-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp, usd } from '../../../platform/http/routes/schemas.ts';
import { nameSteps } from './name-resolution.ts';
import { otherTerms, shownTerms } from './price-terms-schema.ts';
import { versionStatuses } from './versions.ts';

export const modelLengthMax = 200;

export const provider = (otherwise: string) =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '\\S',
    [formatMessage]: 'Must not be blank.',
    description: `Provider of the model, such as \`openai\`: up to 100 characters, not blank. ${otherwise}`,
  });

const described = (description: string) => Type.Optional(nullable(Type.String({ ...usd, description })));
const perMillion = (tokens: string, otherwise: string) =>
  described(`US dollars per million ${tokens}, a decimal string. If left out: ${otherwise}.`);

const inputUsd = Type.String({
  ...usd,
  description: 'US dollars per million input tokens, a decimal string of at most 9 decimals.',
});
const otherRates = {
  cached_input_usd_per_million: perMillion('input tokens read from a cache', 'charged as input'),
  cached_image_input_usd_per_million: perMillion(
    'image input tokens read from a cache',
    'charged as other cached input',
  ),
  cache_write_usd_per_million: perMillion('input tokens written to a cache', 'charged as input'),
  output_usd_per_million: perMillion('output tokens', 'the model has none'),
  audio_input_usd_per_million: perMillion('audio input tokens', 'charged as input'),
  image_input_usd_per_million: perMillion('image input tokens', 'charged as input'),
  audio_output_usd_per_million: perMillion('audio output tokens', 'charged as output'),
  image_usd: described('US dollars per generated image. If left out: 0.'),
  request_usd: described('US dollars per run, in addition to tokens. If left out: 0.'),
};
const effectiveFrom = Type.Optional(
  Type.String({
    ...timestamp,
    description:
      'When this price takes effect, RFC 3339 with offset; in the past or the future. Default: now.',
  }),
);

/** Schema of a region or a capability: short and lower-case, so that there is only one spelling. */
export const word = (examples: string[]) => Type.String({ ...serviceWord, examples });
export const capabilityWords = ['json', 'tools', 'vision'];
export const regionWords = ['eu', 'us'];
const wordsMax = 50;
export const tokenCount = Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 });

const capabilityFields = {
  context_tokens: nullable(
    Type.Integer({ ...tokenCount, description: 'Context size in tokens, input and output together.' }),
  ),
  max_output_tokens: nullable(
    Type.Integer({ ...tokenCount, description: 'Maximum number of output tokens.' }),
  ),
  regions: nullable(
    Type.Array(word(regionWords), {
      maxItems: wordsMax,
      description: 'Regions where the model is served, named like the home regions of organizations.',
    }),
  ),
  capabilities: nullable(
    Type.Array(word(capabilityWords), {
      maxItems: wordsMax,
      description:
        'Capabilities: `audio`, `embeddings`, `images`, `json`, `reasoning`, `tools`, `vision`, or your own words.',
    }),
  ),
};
export const ModelCapabilitiesView = closed(capabilityFields);
export type ModelCapabilitiesView = Static<typeof ModelCapabilitiesView>;

const namesMax = 100;
const nameList = (maxItems: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: modelLengthMax }), { maxItems, description });
export const aliases = nameList(
  namesMax,
  'Other names of the model, compared exactly. Null: those of the catalog.',
);
export const patterns = nameList(
  20,
  'Patterns of other names of the model; `*` stands for any characters. Of several that match, the one with most other ' +
    'characters applies.',
);
export const ModelNamesView = closed({ aliases, patterns });
export type ModelNamesView = Static<typeof ModelNamesView>;

export const PutModelPrice = closed({
  provider: Type.Optional(nullable(provider('If left out: as in the previous version.'))),
  input_usd_per_million: inputUsd,
  ...otherRates,
  ...otherTerms,
  effective_from: effectiveFrom,
  follows_updates: Type.Optional(
    Type.Boolean({
      description: 'True: price updates may replace this price. Default: false, the price is kept.',
    }),
  ),
  // A field that is left out stays unchanged; null means unknown.
  context_tokens: Type.Optional(capabilityFields.context_tokens),
  max_output_tokens: Type.Optional(capabilityFields.max_output_tokens),
  regions: Type.Optional(capabilityFields.regions),
  capabilities: Type.Optional(capabilityFields.capabilities),
  aliases: Type.Optional(nullable(aliases)),
  patterns: Type.Optional(nullable(patterns)),
});
export type PutModelPrice = Static<typeof PutModelPrice>;

export const PutOrgPrice = closed({
  discount_percent: Type.Optional(
    nullable(
      Type.String({
        format: 'percent',
        pattern: '^\\d{1,3}(\\.\\d{1,2})?$',
        description:
          'Discount on each rate of the list price: 0 to 100, a decimal string with at most 2 decimals. ' +
          'Replaces rates.',
      }),
    ),
  ),
  input_usd_per_million: Type.Optional(nullable(inputUsd)),
  ...otherRates,
  ...otherTerms,
  effective_from: effectiveFrom,
});
export type PutOrgPrice = Static<typeof PutOrgPrice>;

const shownUsd = nullable(Type.String({ description: 'US dollars as a decimal string.' }));
export const shownRates = {
  input_usd_per_million: shownUsd,
  cached_input_usd_per_million: shownUsd,
  cached_image_input_usd_per_million: shownUsd,
  cache_write_usd_per_million: shownUsd,
  output_usd_per_million: shownUsd,
  audio_input_usd_per_million: shownUsd,
  image_input_usd_per_million: shownUsd,
  audio_output_usd_per_million: shownUsd,
  image_usd: shownUsd,
  request_usd: shownUsd,
};
const shownPrice = { ...shownRates, ...shownTerms };
const status = choice(
  versionStatuses,
  '`withdrawn`: never in force, because another version replaced it or it was removed.',
);
const shownProvider = nullable(Type.String());

export const ModelPriceVersion = closed({
  id,
  model: Type.String(),
  provider: shownProvider,
  status,
  ...shownPrice,
  follows_updates: Type.Boolean({ description: 'True if price updates may replace this price.' }),
  source: nullable(
    Type.String({
      description: 'The price list that the rates come from, with its date. Null if an operator set them.',
    }),
  ),
  effective_from: timestamp,
  created_at: timestamp,
});
export type ModelPriceVersion = Static<typeof ModelPriceVersion>;

export const OrgPriceVersion = closed({
  id,
  org_id: id,
  model: Type.String(),
  status,
  discount_percent: nullable(Type.String({ description: 'Null if the organization has custom rates.' })),
  ...shownPrice,
  effective_from: timestamp,
  ended_at: nullable(timestamp),
  created_at: timestamp,
});
export type OrgPriceVersion = Static<typeof OrgPriceVersion>;

/** A price, with the capabilities and further names of its model. */
export const PricedModel = closed({
  ...ModelPriceVersion.properties,
  ...capabilityFields,
  ...ModelNamesView.properties,
});

/** The version in force, or the next one if none is in force, and the latest versions. */
export const ModelPriceView = closed({
  ...PricedModel.properties,
  versions: Type.Array(ModelPriceVersion, { description: 'The latest 100, latest start first.' }),
});
export const OrgPriceView = closed({
  ...OrgPriceVersion.properties,
  versions: Type.Array(OrgPriceVersion, { description: 'The latest 100, latest start first.' }),
});

const observed = (share: string) =>
  nullable(
    Type.Integer({
      description: `Latency that ${share} of your latest successful runs did not exceed. Null: no run reported its latency.`,
    }),
  );

const priceSources = ['model', 'org', 'discount'] as const;
type PriceSource = (typeof priceSources)[number];

export const ModelView = closed({
  model: Type.String(),
  provider: shownProvider,
  price_version: Type.String({
    description:
      'The price version of runs priced now; with a discount, the list price version, `+`, and the discount version.',
  }),
  source: choice(
    priceSources,
    '`model`: the list price. `org`: custom rates of the organization. `discount`: a discount on the list price.',
  ),
  discount_percent: nullable(Type.String()),
  ...shownPrice,
  ...capabilityFields,
  ...ModelNamesView.properties,
  latency_p50_ms: observed('half'),
  latency_p95_ms: observed('95 of 100'),
});
export type ModelView = Static<typeof ModelView>;

export const ResolveQuery = closed({
  model: Type.String({
    minLength: 1,
    maxLength: modelLengthMax,
    description: 'The name as callers would send it.',
  }),
  provider: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description:
        'The provider that runs would state, such as `azure_openai`: hosts have prices of their own.',
    }),
  ),
  region: Type.Optional(servedRegion),
});

export const unpricedTreatments = ['refuse', 'hold_default', 'record'] as const;
/** Treatment of calls of models without a price. */
export type OnUnpriced = (typeof unpricedTreatments)[number];

export const ModelResolution = closed({
  model: Type.String({ description: 'The requested name.' }),
  priced_as: nullable(
    Type.String({ description: 'The model whose price applies; null: there is no price.' }),
  ),
  provider: shownProvider,
  price_version: nullable(Type.String()),
  source: Type.Unsafe<PriceSource | null>({ type: ['string', 'null'], enum: [...priceSources, null] }),
  discount_percent: nullable(Type.String()),
  ...shownPrice,
  on_unpriced: Type.Unsafe<OnUnpriced | null>({
    type: ['string', 'null'],
    enum: [...unpricedTreatments, null],
    description:
      'What happens to calls of this name, because there is no price: `refuse`: rejected. `hold_default`: charged at the default ' +
      'rates of the organization, which are shown here. `record`: admitted at a cost of 0. Null: there is a price.',
  }),
  steps: Type.Array(
    closed({
      step: choice(
        ['org_price', ...nameSteps],
        '`org_price`: your own price of the name. `at_host`: the list price of the name at the provider. `exact`: the list price ' +
          'of the name. `alias`, `pattern`: the model that has the name. `without_prefix`: the name without the prefix of a ' +
          'provider. `any_host`: the most expensive price that hosts have for the name. `without_date`: the name without the ' +
          'date or number of a release.',
      ),
      name: Type.String({ description: 'The name that was looked up.' }),
      model: nullable(Type.String({ description: 'The model that the name stands for; null: none.' })),
      matched: Type.Boolean({
        description: 'True if the model has a price in force. Later steps are not tried.',
      }),
    }),
    { description: 'The steps that were tried, in order.' },
  ),
});
export type ModelResolution = Static<typeof ModelResolution>;

const filters = {
  model: Type.Optional(Type.String({ minLength: 1, maxLength: modelLengthMax })),
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
};

export const priceSorts = {
  model: 'text',
  effective_from: 'timestamptz',
  created_at: 'timestamptz',
} as const;
export const ModelPriceFilters = listParameters(priceSorts, filters);
export type ModelPriceFilters = Static<typeof ModelPriceFilters>;
export const OrgPriceFilters = listParameters(priceSorts, { model: filters.model });
export type OrgPriceFilters = Static<typeof OrgPriceFilters>;

export const modelSorts = { model: 'text', provider: 'text' } as const;
export const ModelFilters = listParameters(modelSorts, {
  ...filters,
  capability: Type.Optional(word(capabilityWords)),
  region: Type.Optional(word(regionWords)),
});
export type ModelFilters = Static<typeof ModelFilters>;
