/** Finds prices of the catalog by any name, as a service without prices of its own does. */
import { priceOf, readCatalog } from '../../src/capabilities/spend/models/index.ts';
import { createNameResolution } from '../../src/capabilities/spend/models/name-resolution.ts';

interface FlatRates {
  readonly input: number;
  readonly output: number;
}

export function catalogPrices(): (name: string) => FlatRates | undefined {
  const { models } = readCatalog();
  const prices = new Map<string, FlatRates>();
  for (const entry of models) {
    const price = priceOf(entry);
    if (price !== undefined) {
      const { input_usd_per_million: input, output_usd_per_million: output } = price;
      prices.set(entry.model, { input: Number(input), output: Number(output ?? 0) });
    }
  }
  const rows = models.map(({ model, aliases = null, patterns = null }) => ({
    model,
    aliases: null,
    patterns: null,
    catalog_aliases: aliases,
    catalog_patterns: patterns,
  }));
  const names = createNameResolution(rows, () => prices.keys());
  return (name) => {
    for (const candidate of [name, ...names.otherModels(name)]) {
      const found = [candidate].flat().flatMap((model) => prices.get(model) ?? []);
      if (found.length > 0) {
        return found.reduce((most, one) => (one.input + one.output > most.input + most.output ? one : most));
      }
    }
    return undefined;
  };
}
