/**
 * Finds the counters that a change of limits makes stale. A counter that missed updates must not be used again: it is evicted, and
 * created from the ledger when it is needed. (On PostgreSQL, `limits.ts` and `change-notifications.ts` delete or update the rows.)
 */
import { type Limit, type OrgLimits, WILDCARD } from '../../kernel/limits.ts';

/**
 * Returns a predicate for stale counters: those of limits that have ended or changed their window, and wildcard counters of
 * customers whose own limit starts or stops to override. Returns undefined if there are none.
 */
export function staleCounters(before: OrgLimits, after: OrgLimits): ((key: string) => boolean) | undefined {
  const limitsAfter = new Map(after.all.map((limit) => [limit.id, limit]));
  const moved = new Set<string>();
  for (const limit of before.all) {
    const now = limitsAfter.get(limit.id);
    if (now === undefined || spanKey(limit, before) !== spanKey(now, after)) {
      moved.add(limit.id);
    }
  }
  const [overridesBefore, overridesAfter] = [customersWithOwnLimit(before), customersWithOwnLimit(after)];
  const changed = new Set(
    [...overridesBefore, ...overridesAfter].filter(
      (customer) => overridesBefore.has(customer) !== overridesAfter.has(customer),
    ),
  );
  if (moved.size === 0 && changed.size === 0) {
    return undefined;
  }
  return (key) => {
    const id = key.slice(0, key.indexOf('@'));
    const colon = key.indexOf(':');
    return (
      moved.has(id) ||
      (colon >= 0 && limitsAfter.get(id)?.kind === 'customer' && changed.has(key.slice(colon + 1)))
    );
  };
}

/** Returns the ids of limits without a window whose capacity has changed, so that their alerts are emitted again (`alertKey`). */
export function resizedLimits(before: OrgLimits, after: OrgLimits): ReadonlySet<string> {
  const capacities = new Map(withoutWindow(before).map(({ id, capacity }) => [id, capacity]));
  const resized = withoutWindow(after).filter(({ id, capacity }) => {
    const earlier = capacities.get(id);
    return earlier !== undefined && earlier !== capacity;
  });
  return new Set(resized.map(({ id }) => id));
}

function withoutWindow({ all }: OrgLimits): readonly Limit[] {
  return all.filter(({ span }) => span.kind === 'lifetime');
}

function spanKey({ span }: Limit, { timezone }: OrgLimits): string {
  switch (span.kind) {
    case 'calendar':
      return `${span.period} ${span.timezone ?? timezone}`;
    case 'fixed':
      return String(span.seconds);
    case 'lifetime':
      return '';
  }
}

function customersWithOwnLimit({ all }: OrgLimits): Set<string> {
  return new Set(
    all.flatMap(({ kind, match: { customer_id } }) =>
      kind === 'customer' && customer_id !== undefined && customer_id !== WILDCARD ? [customer_id] : [],
    ),
  );
}
