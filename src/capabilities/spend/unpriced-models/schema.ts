import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { modelLengthMax, PutOrgPrice, shownRates, unpricedTreatments } from '../models/index.ts';

const onUnpriced = choice(
  unpricedTreatments,
  'What happens to calls of models without a price, if the request states no cost: `refuse` rejects them with 422, `hold_default` ' +
    'holds and charges them at the default rates, `record` admits them at a cost of 0. Limits on tokens and requests always count.',
);

const rates = PutOrgPrice.properties;

export const PutUnpricedPolicy = closed({
  on_unpriced: onUnpriced,
  input_usd_per_million: rates.input_usd_per_million,
  cached_input_usd_per_million: rates.cached_input_usd_per_million,
  cached_image_input_usd_per_million: rates.cached_image_input_usd_per_million,
  cache_write_usd_per_million: rates.cache_write_usd_per_million,
  output_usd_per_million: rates.output_usd_per_million,
  audio_input_usd_per_million: rates.audio_input_usd_per_million,
  image_input_usd_per_million: rates.image_input_usd_per_million,
  audio_output_usd_per_million: rates.audio_output_usd_per_million,
  image_usd: rates.image_usd,
  request_usd: rates.request_usd,
});
export type PutUnpricedPolicy = Static<typeof PutUnpricedPolicy>;

export const UnpricedPolicyView = closed({
  on_unpriced: onUnpriced,
  id: nullable(
    Type.String({
      ...id,
      description:
        'The version of this policy. Runs at the default rates have it as their `price_version`. Null: the policy was never set.',
    }),
  ),
  ...shownRates,
  updated_at: nullable(timestamp),
});
export type UnpricedPolicyView = Static<typeof UnpricedPolicyView>;

const counts = {
  runs: Type.Integer({
    description: 'Runs without a price, at the default rates, at the held amount or at 0.',
  }),
  repriced_runs: Type.Integer({ description: 'Those of them that were repriced since.' }),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  first_used_at: timestamp,
  last_used_at: timestamp,
};

export const UnpricedModelView = closed({
  model: Type.String({ description: 'The name that runs called the model by.' }),
  ...counts,
  priced_as: nullable(
    Type.String({
      description:
        'The model whose price applies to this name now, so that its runs can be repriced; null: there is still none.',
    }),
  ),
});
export type UnpricedModelView = Static<typeof UnpricedModelView>;

export const UnpricedModelTotalView = closed({
  model: Type.String(),
  organizations: Type.Integer({
    description: 'Number of organizations that used the model without a price.',
  }),
  ...counts,
});
export type UnpricedModelTotalView = Static<typeof UnpricedModelTotalView>;

const model = Type.Optional(Type.String({ minLength: 1, maxLength: modelLengthMax }));

export const unpricedModelSorts = { last_used_at: 'timestamptz', runs: 'int8', model: 'text' } as const;
export const UnpricedModelFilters = listParameters(unpricedModelSorts, {
  model,
  used_since: Type.Optional(
    Type.String({ ...timestamp, description: 'Only models that were used without a price since then.' }),
  ),
});
export type UnpricedModelFilters = Static<typeof UnpricedModelFilters>;

export const unpricedTotalSorts = { model: 'text' } as const;
export const UnpricedTotalFilters = listParameters(unpricedTotalSorts, { model });
export type UnpricedTotalFilters = Static<typeof UnpricedTotalFilters>;
