/** The roles of members and keys, and the scopes that a key may have. */

/** From least to most powerful. */
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

export type Scope = `${(typeof areas)[number]}:${'read' | 'write'}` | 'edge:decide' | 'runs:backfill';
export const scopes: readonly Scope[] = [
  ...areas.flatMap((area) => [`${area}:read`, `${area}:write`] as const),
  'edge:decide',
  'runs:backfill',
];
