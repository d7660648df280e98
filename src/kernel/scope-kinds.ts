/** Kinds of scopes that a budget can have, as the API names them, and the field of a charge that each matches. */
import { fieldsOf, isTagField, type Limit, type Match, type MatchField, type TagField } from './limits.ts';

const fieldOfKind = {
  workflow: 'workflow',
  deployment: 'deployment',
  department: 'department',
  key: 'key_id',
  member: 'member_id',
  team: 'team',
  model: 'model',
  provider: 'provider',
} as const satisfies Record<string, MatchField>;

const kinds = Object.keys(fieldOfKind) as (keyof typeof fieldOfKind)[];

export type NamedScopeKind = 'org' | keyof typeof fieldOfKind;
/** `tag:<name>` matches the tag of this name. */
export type ScopeKind = NamedScopeKind | TagField;

/** Returns the field that the scope matches; undefined for the whole org. */
export function matchFieldOf(kind: ScopeKind): MatchField | undefined {
  if (kind === 'org') {
    return undefined;
  }
  return isTagField(kind) ? kind : fieldOfKind[kind];
}

export function scopeKindOfMatch(match: Match): ScopeKind {
  const [field] = fieldsOf(match);
  if (field !== undefined && isTagField(field)) {
    return field;
  }
  return kinds.find((kind) => fieldOfKind[kind] === field) ?? 'org';
}

export function scopeKindOf({ kind, match }: Limit): ScopeKind | 'customer' {
  return kind === 'customer' ? 'customer' : scopeKindOfMatch(match);
}
