/** Seeded pseudo-random numbers (mulberry32). */
export interface Random {
  /** Returns a number from 0 to 1, excluding 1. */
  fraction(): number;
  between(least: number, most: number): number;
  /** Returns a random value near the typical one, and sometimes several times as large, like real sizes and durations. */
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

/** Returns the item at the index, or the last one, because sums of fractions may be slightly below 1. */
function last<Item>(items: readonly Item[], index: number): Item {
  const item = items.at(index);
  if (item === undefined) {
    throw new Error('there is nothing to choose from');
  }
  return item;
}
