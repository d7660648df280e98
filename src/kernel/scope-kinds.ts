/** Kinds of scopes that a budget can have, as the API names them, and the field of a charge that each kind matches. */
import { type DimensionScopeKind, limitDimensions, runDimensions } from '../contract/run-dimensions.ts';
import { fieldsOf, isTagField, type Limit, type Match, type MatchField, type TagField } from './limits.ts';

export type NamedScopeKind = 'org' | DimensionScopeKind;
/** `tag:<name>` matches the tag of this name. */
export type ScopeKind = NamedScopeKind | TagField;

/** Returns the field that the scope matches; undefined for the whole org. */
export function matchFieldOf(kind: ScopeKind): MatchField | undefined {
  if (kind === 'org') {
    return undefined;
  }
  return isTagField(kind) ? kind : limitDimensions.find((name) => runDimensions[name].scopeKind === kind);
}

export function scopeKindOfMatch(match: Match): ScopeKind {
  const [field] = fieldsOf(match);
  if (field === undefined || field === 'route_class') {
    return 'org';
  }
  return isTagField(field) ? field : (runDimensions[field].scopeKind ?? 'org');
}

export function scopeKindOf({ kind, match }: Limit): ScopeKind | 'customer' {
  return kind === 'customer' ? 'customer' : scopeKindOfMatch(match);
}
