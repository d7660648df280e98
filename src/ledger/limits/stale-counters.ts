/**
 * What a change of limits leaves uncounted. A counter that nobody adds to for a while must not come back as it was: it
 * is forgotten, and made again from the books when it is needed. (PostgreSQL's are forgotten in `limits.ts`.)
 */
import { type Limit, type OrgLimits, WILDCARD } from '../../kernel/limits.ts';

/**
 * Tells such counters: of limits that are gone or count in other windows now, and of customers that a limit for every
 * other one stops or begins to count. Undefined when there are none.
 */
export function staleCounters(before: OrgLimits, after: OrgLimits): ((key: string) => boolean) | undefined {
  const later = new Map(after.all.map((limit) => [limit.id, limit]));
  const moved = new Set<string>();
  for (const limit of before.all) {
    const now = later.get(limit.id);
    if (now === undefined || spanKey(limit, before) !== spanKey(now, after)) {
      moved.add(limit.id);
    }
  }
  const [own, ownLater] = [customersWithOwn(before), customersWithOwn(after)];
  const changed = new Set(
    [...own, ...ownLater].filter((customer) => own.has(customer) !== ownLater.has(customer)),
  );
  if (moved.size === 0 && changed.size === 0) {
    return undefined;
  }
  return (key) => {
    const id = key.slice(0, key.indexOf('@'));
    const colon = key.indexOf(':');
    return (
      moved.has(id) || (colon >= 0 && later.get(id)?.kind === 'customer' && changed.has(key.slice(colon + 1)))
    );
  };
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

function customersWithOwn({ all }: OrgLimits): Set<string> {
  return new Set(
    all.flatMap(({ kind, match: { customer_id } }) =>
      kind === 'customer' && customer_id !== undefined && customer_id !== WILDCARD ? [customer_id] : [],
    ),
  );
}
