/** Makes names of hosts aliases of the model of the vendor, or of another host or region, that has the same price. */
import { hostOfName, shorterNames } from '../../../kernel/model-names.ts';
import type { CatalogModel } from '../models/index.ts';

/** The number of aliases that a model may have, less those that an operator adds. */
const aliasesMax = 80;

/** A hosted name becomes an alias of the first of its shorter names that is a model with exactly the same prices. */
export function withHostAliases(all: readonly CatalogModel[]): CatalogModel[] {
  const known = new Map(all.map((one) => [one.model, one]));
  const aliases = new Map(all.map((one) => [one.model, [...(one.aliases ?? [])]]));
  const kept = all.filter((one) => {
    if (hostOfName(one.model) === null || one.patterns !== undefined) {
      return true;
    }
    const own = aliases.get(one.model) ?? [];
    const base = shorterNames(one.model)
      .map(({ name }) => known.get(name))
      .find((other) => other !== undefined && pricesOf(other) === pricesOf(one));
    const others = base && aliases.get(base.model);
    if (base === undefined || others === undefined || others.length + own.length >= aliasesMax) {
      return true;
    }
    others.push(one.model, ...own);
    aliases.delete(one.model);
    known.delete(one.model);
    return false;
  });
  return kept.map((one) => {
    const { aliases: _, ...rest } = one;
    const names = aliases.get(one.model) ?? [];
    return names.length === 0 ? rest : { ...rest, aliases: [...new Set(names)].sort() };
  });
}

function pricesOf({ rates, tiers, long_context, regions, units }: CatalogModel): string {
  return JSON.stringify([rates, tiers, long_context, regions, units].map(sorted));
}

/** Lists write the fields of their entries in any order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  return value !== null && typeof value === 'object'
    ? Object.entries(value)
        .map(([name, part]) => [name, sorted(part)])
        .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
    : value;
}
