/** Replaces the id of an erased customer by a pseudonym, also in open holds. */
import { randomBytes } from 'node:crypto';
import { type TagField, type Tags, tagNameOf } from '../../kernel/limits.ts';
import type { Hold } from './hold.ts';
import { erasedKey } from './hold-keys.ts';

const pseudonymPrefix = 'erased-';

export function newPseudonym(): string {
  return `${pseudonymPrefix}${randomBytes(12).toString('hex')}`;
}

export function isErased(customerId: string | null): boolean {
  return customerId?.startsWith(pseudonymPrefix) === true;
}

export interface Renaming {
  readonly from: string;
  readonly to: string;
}

/** Shorter ids occur in other names by chance, so they only match a whole name. */
const nameLengthMin = 4;

/**
 * Returns a PostgreSQL regular expression that finds a customer id in a name chosen by the caller, such as a chain id. The id must
 * be the whole name or, if it is long enough, a part with no letter or digit on either side. The match contains the id only, so
 * that adjacent ids may share the character between them.
 */
export function namePattern(customerId: string): string {
  const escaped = customerId.replaceAll(/[^\p{L}\p{N}\s]/gu, '\\$&');
  return customerId.length < nameLengthMin ? `^${escaped}$` : `(?<![[:alnum:]])${escaped}(?![[:alnum:]])`;
}

/** JavaScript counterpart of `namePattern`. */
export function renamedName(name: string, { from, to }: Renaming): string {
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
 * Returns the hold of a renamed customer, without its stored response; undefined if the hold belongs to another customer. The hold
 * loses its counters keyed by the old name. Those counters are deleted, and a counter created under the new name adds the hold
 * again. Only the tags that limits match are kept.
 */
export function renamedHold(
  hold: Hold,
  renaming: Renaming,
  tagFields: readonly TagField[],
): Hold | undefined {
  const { scope, shares, idempotency } = hold;
  if (scope.customer_id !== renaming.from) {
    return undefined;
  }
  const chainId = scope.chain_id === null ? null : renamedName(scope.chain_id, renaming);
  const tags = scope.tags && keptTags(scope.tags, renaming, tagFields);
  const replaced = [
    renaming.from,
    ...(chainId === scope.chain_id ? [] : [scope.chain_id]),
    ...Object.entries(tags ?? {}).flatMap(([name, value]) =>
      scope.tags?.[name] === value ? [] : [scope.tags?.[name] ?? null],
    ),
  ];
  return {
    ...hold,
    scope: { ...scope, customer_id: renaming.to, chain_id: chainId, tags },
    idempotency: idempotency && erasedKey(idempotency),
    shares: shares.filter(({ key }) => !replaced.some((value) => isCounterOf(key, value))),
  };
}

function keptTags(tags: Tags, renaming: Renaming, tagFields: readonly TagField[]): Tags | null {
  const names = new Set(tagFields.map(tagNameOf));
  const kept = Object.entries(tags).filter(([name]) => names.has(name));
  return kept.length === 0
    ? null
    : Object.fromEntries(kept.map(([name, value]) => [name, renamedName(value, renaming)]));
}

/** Returns the keys of the counters that a hold no longer reserves in after it was renamed. */
export function droppedCounters(before: Hold, after: Hold): string[] {
  return before.shares.filter((share) => !after.shares.includes(share)).map(({ key }) => key);
}

/** Returns true if the values in a counter's key contain the id of the renamed customer, or the pseudonym. */
export function isCounterOfCustomer(key: string, { from, to }: Renaming): boolean {
  const colon = key.indexOf(':');
  const values = key.slice(colon + 1);
  return (
    colon >= 0 &&
    (isCounterOf(key, from) || renamedName(values, { from, to }) !== values || values.includes(to))
  );
}

/** Returns true if a counter is keyed by this value. After its first colon, the key has the value, or a JSON list of several values. */
function isCounterOf(key: string, value: string | null): boolean {
  const colon = key.indexOf(':');
  if (colon < 0 || value === null) {
    return false;
  }
  const values = key.slice(colon + 1);
  return values === value || (values.startsWith('[') && values.includes(JSON.stringify(value)));
}
