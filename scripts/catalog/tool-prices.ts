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
  openai: { file_search: '0.0025', code_interpreter: container, shell: container },
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

/** Prices that a list has take precedence. */
export function withToolPrices(one: CatalogModel): CatalogModel {
  const units = unitsByProvider[one.provider];
  return units !== undefined && takesTools(one) ? { ...one, units: { ...units, ...one.units } } : one;
}

/** The models of OpenAI at Azure have these prefixes; others there are those of other vendors. */
function takesTools({ model, provider, rates, capabilities = [] }: CatalogModel): boolean {
  return (
    provider === 'anthropic' ||
    (capabilities.includes('tools') &&
      Number(rates?.output_usd_per_million ?? 0) > 0 &&
      (provider !== 'azure' || model.startsWith('azure/')))
  );
}
