import type { Rates } from '../../../kernel/prices.ts';

/** Returns the item with the most expensive rates, by the sum for an input and an output token; undefined if there is no item. */
export function mostExpensive<Item>(
  items: readonly Item[],
  ratesOf: (item: Item) => Rates,
): Item | undefined {
  let most: { readonly item: Item; readonly nanos: bigint } | undefined;
  for (const item of items) {
    const { inputNanosPerMillion, outputNanosPerMillion } = ratesOf(item);
    const nanos = inputNanosPerMillion + (outputNanosPerMillion ?? 0n);
    if (most === undefined || nanos > most.nanos) {
      most = { item, nanos };
    }
  }
  return most?.item;
}
