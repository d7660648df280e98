/**
 * The scopes of keys that are older than some scopes. Such a key has every scope if it had every scope of its time. This is
 * computed when a key is read instead of stored, because processes of an older release still create keys with only the scopes that
 * they know.
 */
import { currentScopeGeneration, scopes, scopesUntil } from '../../../contract/scopes.ts';

const array = (values: readonly string[]) => `'{${values.map((value) => `"${value}"`).join()}}'::text[]`;

/** Returns an SQL expression for the scopes of a row of `keys` that is joined under this name. */
export function scopesInForce(table: string): string {
  const cases = Array.from(
    { length: currentScopeGeneration },
    (_, generation) =>
      `WHEN ${table}.scopes_generation = ${generation} AND ${table}.scopes @> ${array(scopesUntil(generation))} THEN ${array(scopes)}`,
  );
  return `CASE ${cases.join(' ')} ELSE ${table}.scopes END`;
}
