/**
 * Rates of batches that the lists leave out. As of 2026-11-19, from docs.mistral.ai/studio-api/batch-processing and groq.com/pricing: half of
 * the input and of the output. Neither page halves cached input once more.
 */
import type { CatalogModel } from '../../src/capabilities/spend/models/catalog.ts';

const providers: ReadonlySet<string> = new Set(['mistral', 'groq']);
/** Models of others that Mistral hosts. */
const hosted = /^(zai-)?glm-|^deepseek-/;

/** Prices that a list has take precedence. */
export function withBatchPrices(one: CatalogModel): CatalogModel {
  const { model, provider, rates = {}, tiers } = one;
  const { input_usd_per_million: input, output_usd_per_million: output } = rates;
  const isLeftOut = providers.has(provider) && !hosted.test(model) && tiers?.batch === undefined;
  if (!isLeftOut || input === undefined || input === '0') {
    return one;
  }
  const batch = {
    input_usd_per_million: half(input),
    ...(output !== undefined && { output_usd_per_million: half(output) }),
  };
  return { ...one, tiers: { ...tiers, batch } };
}

function half(usd: string): string {
  return String(Number((Number(usd) / 2).toFixed(9)));
}
