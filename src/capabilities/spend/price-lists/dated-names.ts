/** Turns dated names into aliases of undated ones, so that the price of an undated name applies to all of its releases. */
import { withoutDateSuffix } from '../../../kernel/model-names.ts';
import type { CatalogModel } from '../models/index.ts';
import { clean } from './fields.ts';

/**
 * Returns the models with aliases. A dated name becomes an alias if it has the same prices as the undated one. `others` has further
 * aliases by model.
 */
export function withAliases(
  all: readonly CatalogModel[],
  others: Readonly<Record<string, readonly string[]>> = {},
): CatalogModel[] {
  const known = new Map(all.map((one) => [one.model, one]));
  const aliases = new Map<string, string[]>();
  const kept = all.filter((one) => {
    const base = known.get(withoutDateSuffix(one.model) ?? '');
    if (base === undefined || pricesOf(base) !== pricesOf(one)) {
      return true;
    }
    aliases.set(base.model, [...(aliases.get(base.model) ?? []), one.model]);
    return false;
  });
  return kept.map((one) => {
    const names = [...(aliases.get(one.model) ?? []), ...(others[one.model] ?? [])].sort();
    const pattern = one.model.startsWith('ft:') ? [`${one.model}:*`] : undefined;
    return clean({ ...one, aliases: names, patterns: pattern }) as CatalogModel;
  });
}

/**
 * Returns the prices of an entry in comparable form. Tiers, and units besides tokens, are left out, because the lists have them for
 * some names only.
 */
function pricesOf({ provider, rates, long_context = [], units = {} }: CatalogModel): string {
  const sorted = (value: object) => Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const brackets = long_context.map(({ tiers: _, ...above }) => sorted(above));
  return JSON.stringify([provider, sorted(rates ?? {}), rates === undefined ? sorted(units) : [], brackets]);
}
