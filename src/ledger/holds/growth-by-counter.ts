/** Sums the growth of open holds, which each counter keeps as a cache (`Counter.growth`). */
import type { Hold } from './hold.ts';

/** Returns the growth of the holds by the key of the counter. Counters without growth are left out. */
export function growthByCounter(
  holds: Iterable<Pick<Hold, 'shares' | 'growth'>>,
): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { shares, growth } of holds) {
    for (const { key, unit } of growth === undefined ? [] : shares) {
      sums.set(key, (sums.get(key) ?? 0n) + (growth?.[unit] ?? 0n));
    }
  }
  return sums;
}
