/** The roles of members and keys, and the scopes that a key may have. */

/** In ascending order of power. */
export const orgRoles = ['viewer', 'member', 'admin', 'owner'] as const;

export type OrgRole = (typeof orgRoles)[number];
export type Role = OrgRole | 'operator';

const areas = [
  'org',
  'keys',
  'runs',
  'budgets',
  'customers',
  'credits',
  'policies',
  'routing',
  'webhooks',
  'audit',
  'benchmarks',
  'forecasts',
] as const;

export type KeyScope =
  | `${(typeof areas)[number] | 'connections'}:${'read' | 'write'}`
  | 'edge:decide'
  | 'runs:backfill'
  | 'gateway:call';

/**
 * Scopes by the release that added them. A key stores the generation in which it was created. A key with all scopes of its
 * generation also has all later ones, because some operations require every scope, and a release must not take them away. A release
 * that adds scopes adds a generation; it never extends an earlier one.
 */
export const scopeGenerations: readonly (readonly KeyScope[])[] = [
  // 0.1.0
  [...areas.flatMap((area) => [`${area}:read`, `${area}:write`] as const), 'edge:decide', 'runs:backfill'],
  // 0.2.0
  ['connections:read', 'connections:write', 'gateway:call'],
];

export const scopes: readonly KeyScope[] = scopeGenerations.flat();

export const currentScopeGeneration = scopeGenerations.length - 1;

/** Returns the scopes that existed in a generation. */
export function scopesUntil(generation: number): readonly KeyScope[] {
  return scopeGenerations.slice(0, generation + 1).flat();
}

/**
 * Returns a list of the scopes that differs for different sets. A key with every scope always gets the sorted list of 0.1.0, so
 * that its list does not change when scopes are added.
 */
export function stableScopeList(held: ReadonlySet<string>): readonly string[] {
  if (scopes.every((scope) => held.has(scope))) {
    return [...scopesUntil(0)].sort();
  }
  const first = scopesUntil(0);
  const isExactlyFirst = held.size === first.length && first.every((scope) => held.has(scope));
  return isExactlyFirst ? ['first generation only', ...[...held].sort()] : [...held].sort();
}
