/** Converts the `api.json` of models.dev into entries of the catalog. Its rates are US dollars per million tokens. */
import type { CatalogModel, CatalogRates } from '../models/index.ts';
import { clean, type FieldProblem, type FieldReader, readerOf } from './fields.ts';
import { createImport, type Imported, ownProviders, type SkipReason } from './selection.ts';

const tokenRates: readonly (readonly [string, keyof CatalogRates])[] = [
  ['input', 'input_usd_per_million'],
  ['cache_read', 'cached_input_usd_per_million'],
  ['cache_write', 'cache_write_usd_per_million'],
  ['output', 'output_usd_per_million'],
  ['input_audio', 'audio_input_usd_per_million'],
  ['output_audio', 'audio_output_usd_per_million'],
];
/** Older form of the only threshold in the list. */
const olderThreshold = { field: 'context_over_200k', tokens: 200_000 } as const;

export function modelsDevModels(
  list: Readonly<Record<string, unknown>>,
  asOf: string,
  problems: FieldProblem[],
  selected: readonly string[] = ownProviders,
): Imported {
  const imported = createImport();
  for (const [provider, value] of Object.entries(list)) {
    const models = readerOf(provider, value, problems).nested('models');
    for (const id of models.names()) {
      if (selected.includes(provider)) {
        imported.add(modelsDevModel(provider, id, models.nested(id), asOf));
      } else {
        imported.add('other_provider');
      }
    }
  }
  return imported.result();
}

function modelsDevModel(
  provider: string,
  id: string,
  entry: FieldReader,
  asOf: string,
): CatalogModel | SkipReason {
  const cost = entry.nested('cost');
  const rates = ratesOf(cost);
  const amounts = Object.values(rates);
  if (amounts.every((amount) => Number(amount) === 0)) {
    return 'free';
  }
  const reasoning = cost.usd('reasoning');
  if (reasoning !== undefined && reasoning !== rates.output_usd_per_million && Number(reasoning) !== 0) {
    return 'not_expressible';
  }
  const longContext = longContextOf(cost);
  if (longContext === undefined) {
    return 'not_expressible';
  }
  const limit = entry.nested('limit');
  return clean({
    // A prefix distinguishes other providers, which serve the same models at other prices.
    model: ownProviders.includes(provider) ? id : `${provider}/${id}`,
    provider,
    source: 'models.dev',
    as_of: asOf,
    source_url: 'https://models.dev',
    rates,
    long_context: longContext,
    context_tokens: limit.count('context'),
    max_output_tokens: limit.count('output'),
    capabilities: capabilitiesOf(entry),
  }) as CatalogModel;
}

function ratesOf(cost: FieldReader): CatalogRates {
  return clean(Object.fromEntries(tokenRates.map(([field, rate]) => [rate, cost.usd(field)])));
}

/** Returns the brackets of long contexts. Returns undefined if tiers depend on anything but the context size. */
function longContextOf(cost: FieldReader): CatalogModel['long_context'] | undefined {
  const tiers = cost.list('tiers');
  if (tiers.length === 0) {
    return cost.has(olderThreshold.field)
      ? [{ above_input_tokens: olderThreshold.tokens, ...ratesOf(cost.nested(olderThreshold.field)) }]
      : [];
  }
  const found = tiers.map((tier) => {
    const { text, count } = tier.nested('tier');
    return { type: text('type'), above_input_tokens: count('size') ?? 0, ...ratesOf(tier) };
  });
  return found.every(({ type, above_input_tokens }) => type === 'context' && above_input_tokens > 0)
    ? found.map(({ type: _, ...rates }) => rates)
    : undefined;
}

function capabilitiesOf(entry: FieldReader): string[] {
  const modalities = entry.nested('modalities');
  const input = modalities.words('input');
  const output = modalities.words('output');
  const able: Readonly<Record<string, boolean>> = {
    audio: [...input, ...output].includes('audio'),
    images: output.includes('image'),
    json: entry.flag('structured_output'),
    reasoning: entry.flag('reasoning'),
    // Some entries describe tool calls with an object instead of `true`.
    tools:
      entry.flag('tool_call') || (entry.isObject('tool_call') && entry.nested('tool_call').flag('supported')),
    vision: input.includes('image'),
  };
  return Object.keys(able).filter((ability) => able[ability]);
}
