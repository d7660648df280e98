/**
 * Sums what open holds reserve in counters that are not in memory, for limit usage. Unlike a decision, it does not load or create
 * these counters.
 */
import { applicableCounters, type LimitWindow } from '../../kernel/admission.ts';
import type { OrgLimits } from '../../kernel/limits.ts';
import type { Hold } from './hold.ts';

/**
 * Returns the reserved amount of each of these counters by key, from one pass over the holds. A hold that was taken before a limit
 * existed does not list the limit's counter but counts in it (`OrgLedgerState.addCounter`).
 */
export function reservedAmounts(
  limits: OrgLimits,
  holds: Iterable<Hold>,
  windows: readonly LimitWindow[],
): ReadonlyMap<string, bigint> {
  const reserved = new Map(windows.map(({ key }) => [key, 0n]));
  const add = (key: string, amount: bigint) => {
    const before = reserved.get(key);
    if (before !== undefined) {
      reserved.set(key, before + amount);
    }
  };
  for (const { scope, admittedAtMs, surface, shares, packs, amounts } of holds) {
    const { shares: applicable } = applicableCounters(limits, scope, admittedAtMs, surface);
    const unnamed = applicable.filter(({ key }) => !shares.some((share) => share.key === key));
    for (const { key, unit } of [...shares, ...unnamed]) {
      add(key, amounts[unit]);
    }
    for (const { key, amount } of packs) {
      add(key, amount);
    }
  }
  return reserved;
}
