/** Customers who were erased are called by a pseudonym from then on, in open holds too. */
import { randomBytes } from 'node:crypto';
import type { Hold } from './hold.ts';

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

/**
 * The hold of a customer under its new name. It no longer takes of counters that go by the old one: those are forgotten, and
 * whoever makes them again under the new name finds the hold.
 */
export function renamedHold(hold: Hold, { from, to }: Renaming): Hold | undefined {
  if (hold.scope.customer_id !== from) {
    return undefined;
  }
  const { scope, shares } = hold;
  return {
    ...hold,
    scope: { ...scope, customer_id: to, chain_id: scope.chain_id?.replaceAll(from, to) ?? null },
    shares: shares.filter(({ key }) => !isCounterOf(key, from)),
  };
}

/** Whether a counter's name holds the customer's: behind the first colon stand the values that it goes by. */
export function isCounterOf(key: string, customerId: string): boolean {
  const colon = key.indexOf(':');
  return colon >= 0 && key.slice(colon + 1).includes(customerId);
}
