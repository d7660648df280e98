/** Customers who were erased are called by a pseudonym from then on, in open holds too. */
import { randomBytes } from 'node:crypto';
import type { Hold } from './hold.ts';
import { erasedKey } from './hold-keys.ts';

const prefix = 'erased-';

export function newPseudonym(): string {
  return `${prefix}${randomBytes(12).toString('hex')}`;
}

export function isErased(customerId: string | null): boolean {
  return customerId?.startsWith(prefix) === true;
}

export interface Renaming {
  readonly from: string;
  readonly to: string;
}

/** Shorter ones stand in other names by chance. */
const nameLengthMin = 4;

/**
 * Finds the id in a name that somebody else made, such as a chain's: as the whole of it or, if it is long enough, as a part with
 * no letter or digit on either side. A regular expression of PostgreSQL; what stands around the id are its groups.
 */
export function namePattern(customerId: string): string {
  const escaped = customerId.replaceAll(/[^\p{L}\p{N}\s]/gu, '\\$&');
  return customerId.length < nameLengthMin
    ? `(^)${escaped}($)`
    : `(^|[^[:alnum:]])${escaped}($|[^[:alnum:]])`;
}

/** The same here. */
function renamedName(name: string, { from, to }: Renaming): string {
  if (from.length < nameLengthMin) {
    return name === from ? to : name;
  }
  const escaped = from.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  return name.replaceAll(
    new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'gu'),
    to.replaceAll('$', '$$$$'),
  );
}

/**
 * The hold of a customer under its new name, without the response that its key has kept. It no longer takes of counters that go by the old one: those are forgotten, and
 * whoever makes them again under the new name finds the hold.
 */
export function renamedHold(hold: Hold, renaming: Renaming): Hold | undefined {
  const { scope, shares, idempotency } = hold;
  if (scope.customer_id !== renaming.from) {
    return undefined;
  }
  const chainId = scope.chain_id === null ? null : renamedName(scope.chain_id, renaming);
  return {
    ...hold,
    scope: { ...scope, customer_id: renaming.to, chain_id: chainId },
    idempotency: idempotency && erasedKey(idempotency),
    shares: shares.filter(
      ({ key }) =>
        !isCounterOf(key, renaming.from) && (chainId === scope.chain_id || !isCounterOf(key, scope.chain_id)),
    ),
  };
}

/** Whether a counter goes by this value: behind the first colon stands the value, or a list of several as JSON. */
export function isCounterOf(key: string, value: string | null): boolean {
  const colon = key.indexOf(':');
  if (colon < 0 || value === null) {
    return false;
  }
  const values = key.slice(colon + 1);
  return values === value || (values.startsWith('[') && values.includes(JSON.stringify(value)));
}
