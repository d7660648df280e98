/**
 * The scopes of a key that was created before scopes were added: every scope, if it had every scope then. Computed when a key is
 * read, and not stored: processes of an older release still create keys with every scope that they know.
 */
import { currentScopeGeneration, scopes, scopesUntil } from '../../../contract/scopes.ts';

const array = (values: readonly string[]) => `'{${values.map((value) => `"${value}"`).join()}}'::text[]`;

/** Returns the SQL of the scopes of a row of `keys`, which is joined under this name. */
export function scopesInForce(table: string): string {
  const cases = Array.from(
    { length: currentScopeGeneration },
    (_, generation) =>
      `WHEN ${table}.scopes_generation = ${generation} AND ${table}.scopes @> ${array(scopesUntil(generation))} THEN ${array(scopes)}`,
  );
  return `CASE ${cases.join(' ')} ELSE ${table}.scopes END`;
}
