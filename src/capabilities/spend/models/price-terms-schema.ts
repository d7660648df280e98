/** The schemas of modifiers and unit prices. */
import { Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { serviceWord, unitName, unitsMax } from '../../../ledger/service-fields.ts';
import { choice, closed, nullable, usd } from '../../../platform/http/routes/schemas.ts';

const rate = (of: string) => Type.Optional(Type.String({ ...usd, description: `US dollars ${of}.` }));
const word = (examples: string[], description: string) =>
  Type.Optional(Type.String({ ...serviceWord, examples, description }));

const modifier = closed({
  tier: word(['batch', 'flex', 'priority'], 'Applies to runs with this `service_tier`.'),
  above_input_tokens: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000_000,
      description: 'Applies to all tokens of runs with more input tokens than this.',
    }),
  ),
  cache_write_ttl: Type.Optional(choice(['1h'], 'Applies to `cache_write_1h_tokens` only.')),
  region: word(
    ['eu', 'us'],
    'Applies to runs with this `region`; `regional` to those with any but `global`.',
  ),
  multiplier: Type.Optional(
    Type.String({
      pattern: '^\\d{1,3}(\\.\\d{1,9})?$',
      [formatMessage]: 'Must be a decimal number below 1,000, such as 1.25.',
      description:
        'Factor of all rates so far, a decimal string below 1000. Each rate is rounded up to 9 decimals. Not applied to units.',
    }),
  ),
  input_usd_per_million: rate('per million input tokens'),
  cached_input_usd_per_million: rate('per million input tokens read from a cache'),
  cached_image_input_usd_per_million: rate('per million image input tokens read from a cache'),
  cache_write_usd_per_million: rate('per million input tokens written to a cache'),
  output_usd_per_million: rate('per million output tokens'),
  audio_input_usd_per_million: rate('per million audio input tokens'),
  image_input_usd_per_million: rate('per million image input tokens'),
  audio_output_usd_per_million: rate('per million audio output tokens'),
  image_usd: rate('per generated image'),
  request_usd: rate('per run'),
});

const modifiers = Type.Array(modifier, {
  maxItems: 32,
  description:
    'Rates that replace others, or a `multiplier`, for runs that meet all stated conditions. They apply in this order, so later ' +
    'ones win.',
});

/** Not a `Type.Record`, which cannot limit the length of names. */
const unitPrices = {
  type: 'object',
  propertyNames: unitName,
  additionalProperties: usd,
  maxProperties: unitsMax,
  examples: [{ web_search: '0.01' }],
  description:
    'US dollars for each of other units, by name: `web_search`, `code_session_minute`, `second`, `character`, `page`, `tool:<name>` …',
};

/** The terms in a request other than its rates. */
export const otherTerms = {
  modifiers: Type.Optional(nullable(modifiers)),
  units: Type.Optional(
    Type.Unsafe<Record<string, string> | null>({ ...unitPrices, type: ['object', 'null'] }),
  ),
};

export const shownTerms = { modifiers, units: Type.Unsafe<Record<string, string>>(unitPrices) };
