/** Chance that can be repeated: the same seed draws the same (mulberry32). */
export interface Random {
  /** From 0 to 1, without 1. */
  fraction(): number;
  between(least: number, most: number): number;
  /** Skewed as sizes and durations are: mostly near the typical value, at times several times it. */
  around(typical: number): number;
  pick<Item>(items: readonly Item[]): Item;
  weighted<Item extends { readonly weight: number }>(items: readonly Item[]): Item;
}

export function randomOf(seed: number): Random {
  let state = seed;
  const fraction = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    fraction,
    between: (least, most) => least + fraction() * (most - least),
    around: (typical) => typical * Math.exp((fraction() + fraction() + fraction() - 1.5) * 1.1),
    pick: (items) => last(items, Math.floor(fraction() * items.length)),
    weighted(items) {
      let left = fraction() * items.reduce((sum, { weight }) => sum + weight, 0);
      const index = items.findIndex(({ weight }) => {
        left -= weight;
        return left < 0;
      });
      return last(items, index);
    },
  };
}

/** The item at the index, or the last one: sums of fractions may miss the end by a hair. */
function last<Item>(items: readonly Item[], index: number): Item {
  const item = items.at(index);
  if (item === undefined) {
    throw new Error('there is nothing to choose from');
  }
  return item;
}
