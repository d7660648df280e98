import { type Static, Type } from 'typebox';
import { listParameters } from '../../platform/http/list.ts';
import { choice, closed, id, nullable, timestamp, usd } from '../../platform/http/schemas.ts';
import { versionStatuses } from './versions.ts';

export const modelLengthMax = 200;

const provider = (otherwise: string) =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '\\S',
    description: `Who serves the model, such as \`openai\`: up to 100 characters, not all blank. ${otherwise}`,
  });

const described = (description: string) => Type.Optional(nullable(Type.String({ ...usd, description })));
const perMillion = (tokens: string, otherwise: string) =>
  described(`US dollars per million ${tokens}, a decimal string. Left out: ${otherwise}.`);

const inputUsd = Type.String({
  ...usd,
  description: 'US dollars per million input tokens, a decimal string of at most 9 decimals.',
});
const otherRates = {
  cached_input_usd_per_million: perMillion('input tokens read from a cache', 'charged as input'),
  cache_write_usd_per_million: perMillion('input tokens written to a cache', 'charged as input'),
  output_usd_per_million: perMillion('output tokens', 'the model has none'),
  audio_input_usd_per_million: perMillion('audio input tokens', 'charged as input'),
  audio_output_usd_per_million: perMillion('audio output tokens', 'charged as output'),
  image_usd: described('US dollars per image made. Left out: nothing.'),
  request_usd: described('US dollars per run, on top of its tokens. Left out: nothing.'),
};
const effectiveFrom = Type.Optional(
  Type.String({
    ...timestamp,
    description:
      'From when on this price holds, RFC 3339 with offset; in the past or the future. Default: now.',
  }),
);

export const PutModelPrice = closed({
  provider: Type.Optional(nullable(provider('Left out: as in the version before.'))),
  input_usd_per_million: inputUsd,
  ...otherRates,
  effective_from: effectiveFrom,
});
export type PutModelPrice = Static<typeof PutModelPrice>;

export const PutOrgPrice = closed({
  discount_percent: Type.Optional(
    nullable(
      Type.String({
        pattern: '^\\d{1,3}(\\.\\d{1,2})?$',
        description:
          "What is taken off each rate of the model's price: 0 to 100, a decimal string of at most 2 decimals. " +
          'Instead of rates.',
      }),
    ),
  ),
  input_usd_per_million: Type.Optional(nullable(inputUsd)),
  ...otherRates,
  effective_from: effectiveFrom,
});
export type PutOrgPrice = Static<typeof PutOrgPrice>;

const shownUsd = nullable(Type.String({ description: 'US dollars as a decimal string.' }));
const shownRates = {
  input_usd_per_million: shownUsd,
  cached_input_usd_per_million: shownUsd,
  cache_write_usd_per_million: shownUsd,
  output_usd_per_million: shownUsd,
  audio_input_usd_per_million: shownUsd,
  audio_output_usd_per_million: shownUsd,
  image_usd: shownUsd,
  request_usd: shownUsd,
};
const status = choice(
  versionStatuses,
  'Whether this version holds now, will, did, or never does because another one took its place.',
);
const shownProvider = nullable(Type.String());

export const ModelPriceVersion = closed({
  id,
  model: Type.String(),
  provider: shownProvider,
  status,
  ...shownRates,
  effective_from: timestamp,
  created_at: timestamp,
});
export type ModelPriceVersion = Static<typeof ModelPriceVersion>;

export const OrgPriceVersion = closed({
  id,
  org_id: id,
  model: Type.String(),
  status,
  discount_percent: nullable(Type.String({ description: 'Null where the org has rates of its own.' })),
  ...shownRates,
  effective_from: timestamp,
  ended_at: nullable(timestamp),
  created_at: timestamp,
});
export type OrgPriceVersion = Static<typeof OrgPriceVersion>;

/** Both are the version in force, or the next one while none is, with its siblings. */
export const ModelPriceView = closed({
  ...ModelPriceVersion.properties,
  versions: Type.Array(ModelPriceVersion, { description: 'The latest 100, latest start first.' }),
});
export const OrgPriceView = closed({
  ...OrgPriceVersion.properties,
  versions: Type.Array(OrgPriceVersion, { description: 'The latest 100, latest start first.' }),
});

export const ModelView = closed({
  model: Type.String(),
  provider: shownProvider,
  price_version: Type.String({
    description:
      'What runs priced now will name: with a discount the version of the price, `+`, and its own.',
  }),
  source: choice(
    ['model', 'org', 'discount'],
    "Whether the price is everyone's, the org's own, or reduced for it.",
  ),
  discount_percent: nullable(Type.String()),
  ...shownRates,
});
export type ModelView = Static<typeof ModelView>;

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
export const ModelFilters = listParameters(modelSorts, filters);
export type ModelFilters = Static<typeof ModelFilters>;
