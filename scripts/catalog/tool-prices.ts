/**
 * Prices of tools that providers run, which the price lists leave out. As of 2026-11-19, from the price pages of the providers:
 * developers.openai.com/api/docs/pricing, azure.microsoft.com/pricing/details/azure-openai, platform.claude.com/docs/en/about-claude/pricing,
 * docs.x.ai/developers/pricing, docs.perplexity.ai/getting-started/pricing.
 */
import type { CatalogModel } from '../../src/capabilities/spend/models/catalog.ts';

type Units = Readonly<Record<string, string>>;

/** A container of the usual size, for 20 minutes. */
const container = '0.03';
/** Anthropic charges $0.05 for an hour, and five minutes at least. */
const fiveMinutes = '0.004166667';

const unitsByProvider: Readonly<Record<string, Units>> = {
  openai: { file_search: '0.0025', code_interpreter: container, shell: container, web_search: '0.01' },
  azure: { file_search: '0.0025', code_interpreter: '0.033', bing_grounding: '0.014' },
  // The lists leave the search out for some models, but it costs the same with all of them.
  anthropic: { web_search: '0.01', code_execution: fiveMinutes },
  xai: {
    web_search: '0.005',
    x_search: '0.005',
    code_interpreter: '0.005',
    code_execution: '0.005',
    file_search: '0.0025',
    collections_search: '0.0025',
    attachment_search: '0.01',
  },
  perplexity: {
    web_search: '0.005',
    fetch_url: '0.0005',
    people_search: '0.005',
    finance_search: '0.005',
    sandbox: container,
  },
};

/**
 * The tool `web_search_preview` of OpenAI costs more with models that do not reason. Their search content is free, and not in the usage.
 * The lists have this price as that of all searches.
 */
const previewSearch = { reasoning: '0.01', other: '0.025' };

/** OpenAI bills a search of these models as $0.01 and 8,000 input tokens. */
const searchesWithBlocks: Units = { 'gpt-4o-mini': '0.0112', 'gpt-4.1-mini': '0.0132' };

/** Models of chats that search in every call. */
const isSearchModel = (model: string) => /-search-(preview|api)/.test(model);

/** Prices that a list has take precedence, except those of searches by OpenAI. */
export function withToolPrices(one: CatalogModel): CatalogModel {
  const units = unitsByProvider[one.provider];
  if (units === undefined || !takesTools(one)) {
    return one;
  }
  const own = one.provider === 'openai' && !isSearchModel(one.model) ? searchUnits(one) : {};
  return { ...one, units: { ...units, ...one.units, ...own } };
}

function searchUnits({ model, capabilities = [] }: CatalogModel): Units {
  const preview = capabilities.includes('reasoning') ? previewSearch.reasoning : previewSearch.other;
  return { web_search: searchesWithBlocks[model] ?? '0.01', 'web_search:preview': preview };
}

/** The lists have no search without a model. A request with several queries is charged once. */
export const searchModels: readonly CatalogModel[] = [
  {
    model: 'perplexity/search',
    provider: 'perplexity',
    source: 'perplexity',
    as_of: '2026-11-19',
    source_url: 'https://docs.perplexity.ai/getting-started/pricing',
    units: { web_search: '0.005' },
  },
];

/** The models of OpenAI at Azure have these prefixes; others there are those of other vendors. */
function takesTools({ model, provider, rates, capabilities = [] }: CatalogModel): boolean {
  return (
    provider === 'anthropic' ||
    (capabilities.includes('tools') &&
      Number(rates?.output_usd_per_million ?? 0) > 0 &&
      (provider !== 'azure' || model.startsWith('azure/')))
  );
}
