/** Schema of the catalog of models, for catalogs that operators give. The shipped catalog follows it too. */
import { type TSchema, type TString, Type } from 'typebox';
import { closed, usd } from '../../../platform/http/routes/schemas.ts';
import { rateFields } from './rates.ts';
import { aliases, modelLengthMax, patterns, provider, tokenCount, word } from './schema.ts';

/** Bounded by the number of values in a body: an entry has 10 to 30. */
export const catalogModelsMax = 3_000;

/** Maximum number of values in a body, enough for `catalogModelsMax` models. */
export const catalogValuesMax = 100_000;

const date = Type.String({
  format: 'date',
  pattern: '^\\d{4}-\\d{2}-\\d{2}$',
  maxLength: 10,
  description: '`YYYY-MM-DD`',
});
const amount = Type.Optional(usd);
const rates = Object.fromEntries(
  [...rateFields, 'cache_write_1h_usd_per_million'].map((field) => [field, amount]),
) as Record<string, typeof amount>;
const Rates = closed(rates);
const byWord = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9._:-]{0,63}$' }) as TString, schema, {
    maxProperties: 20,
    additionalProperties: false,
    description,
  });

const CatalogModelSchema = closed({
  model: Type.String({ minLength: 1, maxLength: modelLengthMax, description: 'Name of the model.' }),
  provider: provider('Such as `openai`.'),
  aliases: Type.Optional(aliases),
  patterns: Type.Optional(patterns),
  source: Type.String({ minLength: 1, maxLength: 64, description: 'A key of `sources`.' }),
  as_of: date,
  source_url: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
  rates: Type.Optional(Rates),
  tiers: Type.Optional(
    byWord(closed({ ...rates, multiplier: amount }), 'Rates by service tier, or a factor of all rates.'),
  ),
  long_context: Type.Optional(
    Type.Array(
      closed({
        ...rates,
        above_input_tokens: tokenCount,
        tiers: Type.Optional(byWord(Rates, 'Rates by service tier.')),
      }),
      { maxItems: 10, description: 'Rates above a number of input tokens.' },
    ),
  ),
  regions: Type.Optional(byWord(usd, 'Factor of all rates, by region.')),
  units: Type.Optional(byWord(usd, 'US dollars per unit.')),
  context_tokens: Type.Optional(tokenCount),
  max_output_tokens: Type.Optional(tokenCount),
  capabilities: Type.Optional(Type.Array(word(['tools']), { maxItems: 50 })),
  deprecated_on: Type.Optional(date),
});

export const CatalogDocument = closed({
  schema: Type.Integer({ minimum: 1, maximum: 1, description: 'Version of this schema: 1.' }),
  date,
  sources: byWord(
    closed({
      name: Type.String({ minLength: 1, maxLength: 200 }),
      url: Type.String({ minLength: 1, maxLength: 1_000 }),
    }),
    'Price lists, by key.',
  ),
  models: Type.Array(CatalogModelSchema, { minItems: 1, maxItems: catalogModelsMax }),
});
