/**
 * Makes `assets/catalog.json` from public price lists:
 *
 *   tsx scripts/catalog/make-catalog.ts --date 2026-11-16 --litellm FILE --genai FOLDER
 *
 * FILE is `model_prices_and_context_window_backup.json` of the Python package `litellm`, FOLDER the npm package
 * `@pydantic/genai-prices`. The same files and date give the same catalog.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Catalog, CatalogModel, CatalogRates } from '../../src/capabilities/spend/models/catalog.ts';
import { priceOf } from '../../src/capabilities/spend/models/index.ts';
import {
  clean,
  type FieldProblem,
  hostProviders,
  litellmModels,
  withAliases,
  withHostAliases,
} from '../../src/capabilities/spend/price-lists/index.ts';
import { withBatchPrices } from './batch-prices.ts';
import { aliasesOfDated, genaiModels, imageModels } from './earlier-models.ts';
import { withRegionalPrices } from './regional-prices.ts';
import { searchModels, withToolPrices } from './tool-prices.ts';

const { values } = parseArgs({
  options: {
    date: { type: 'string' },
    litellm: { type: 'string' },
    'litellm-version': { type: 'string' },
    genai: { type: 'string' },
  },
});
const { date, litellm, genai } = values;
if (date === undefined || litellm === undefined || genai === undefined) {
  throw new Error('--date, --litellm and --genai are required');
}

const genaiPackage = JSON.parse(readFileSync(join(genai, 'package.json'), 'utf8')) as { version: string };
const models = new Map<string, CatalogModel>();
for (const one of [...fromLitellm(litellm, date), ...fromGenai(genai), ...imageModels, ...searchModels]) {
  if (!models.has(one.model)) {
    models.set(one.model, one);
  }
}

const catalog: Catalog = {
  schema: 1,
  date,
  sources: {
    litellm: {
      name: `litellm ${values['litellm-version'] ?? ''}`.trim(),
      url: 'https://github.com/BerriAI/litellm',
    },
    'genai-prices': {
      name: `@pydantic/genai-prices ${genaiPackage.version}`,
      url: 'https://github.com/pydantic/genai-prices',
    },
    perplexity: { name: 'Perplexity list prices', url: 'https://docs.perplexity.ai/getting-started/pricing' },
    openai: { name: 'OpenAI list prices', url: 'https://platform.openai.com/docs/pricing' },
  },
  models: withHostAliases(
    withAliases([...models.values()].map(withToolPrices).map(withBatchPrices), aliasesOfDated),
  )
    .filter((one) => priceOf(one) !== undefined)
    .map(withoutDetails)
    .map(withRegionalPrices)
    .sort((a, b) => (a.model < b.model ? -1 : 1)),
};
const lines = catalog.models.map((one) => `    ${JSON.stringify(one)}`).join(',\n');
const head = JSON.stringify({ ...catalog, models: [] }, null, 2).replace(/"models": \[\]\n\}$/, '');
writeFileSync(
  new URL('../../assets/catalog.json', import.meta.url),
  `${head}"models": [\n${lines}\n  ]\n}\n`,
);
process.stdout.write(`${catalog.models.length} models\n`);

/** Most models are those of hosts, and the list links their prices to a few pages. */
function withoutDetails(one: CatalogModel): CatalogModel {
  const { source_url: _, ...rest } = one;
  return hostProviders.includes(one.provider) ? rest : one;
}

function fromLitellm(file: string, asOf: string): readonly CatalogModel[] {
  const problems: FieldProblem[] = [];
  const { models: found } = litellmModels(JSON.parse(readFileSync(file, 'utf8')), asOf, problems);
  if (problems.length > 0) {
    throw new Error(JSON.stringify(problems, null, 2));
  }
  return found;
}

function fromGenai(folder: string): CatalogModel[] {
  const { calcPrice } = createRequire(import.meta.url)(join(folder, 'dist/index.cjs'));
  return genaiModels.map(({ model, provider, id, ...rest }) => {
    // The list has no prefixes of hosts.
    const listed = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
    const found = calcPrice({ input_tokens: 1 }, listed, { providerId: provider });
    if (found?.model.id !== id) {
      throw new Error(`${model} is ${found?.model.id}, not ${id}, in the price list`);
    }
    return clean({
      model,
      provider,
      source: 'genai-prices',
      as_of: '2026-09-23',
      rates: genaiRates(found.model_price),
      ...rest,
    });
  });
}

type GenaiPrice = Readonly<Record<string, number | { readonly base: number } | undefined>>;

function genaiRates(price: GenaiPrice): CatalogRates {
  const rate = (field: string) => {
    const amount = price[field];
    const base = typeof amount === 'object' ? amount.base : amount;
    return base === undefined ? undefined : String(base);
  };
  return clean({
    input_usd_per_million: rate('input_mtok') ?? '0',
    cached_input_usd_per_million: rate('cache_read_mtok'),
    cache_write_usd_per_million: rate('cache_write_mtok'),
    cache_write_1h_usd_per_million: rate('cache_write_1h_mtok'),
    output_usd_per_million: rate('output_mtok'),
  }) as CatalogRates;
}
