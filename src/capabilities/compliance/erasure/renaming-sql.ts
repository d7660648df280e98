/**
 * SQL expressions that replace a customer's id. Their parameters: $1 is the org, $2 the id, $3 the pseudonym, $4 the id as JSON,
 * $6 a pattern for the id within names.
 */
import { type RunDimensionName, runDimensions } from '../../../contract/run-dimensions.ts';

/** Returns a JSON text in which keys that equal the id are replaced by a character that JSON would escape. */
const withoutKeys = (column: string) => `replace(${column}::text, $4::text || ':', E'\\x01')`;
/**
 * Replaces every JSON string that equals the id, but not keys, which name fields. Quotes and escapes have only one spelling in
 * `jsonb`, and a colon follows each key, so the text can be replaced. A pseudonym has no characters that JSON escapes.
 */
export const renamedJson = (column: string) =>
  `replace(replace(${withoutKeys(column)}, $4, '"' || $3 || '"'), E'\\x01', $4::text || ':')::jsonb`;
export const containsId = (column: string) => `strpos(${withoutKeys(column)}, $4) > 0`;
/**
 * Returns a text as a JSON string, and null as JSON null. A distributed database only allows immutable functions in updates, which
 * `to_jsonb` and `jsonb_build_object` are not.
 */
export const jsonString = (text: string) => `(jsonb_object(ARRAY['text', ${text}]) -> 'text')`;
/** Replaces the id within a name that the caller chose. */
export const renamedName = (column: string) => `regexp_replace(${column}, $6, $3::text, 'g')`;
/**
 * Returns the tags that budgets of the org count by, with the id replaced. Without them, a budget would lose what it has counted.
 * All other tags are deleted.
 */
export const keptTags = (tags: string) => `(
  SELECT jsonb_object(array_agg(tag.key), array_agg(${renamedName('tag.value')})) FROM jsonb_each_text(nullif(${tags}, 'null')) AS tag
   WHERE EXISTS (SELECT 1 FROM limits WHERE org_id = $1 AND ended_at IS NULL AND (match ->> ('tag:' || tag.key)) IS NOT NULL))`;
/** Assignments for the dimension columns of a row of the customer. */
export const erasedDimensions = (names: readonly RunDimensionName[]) => {
  const assignments = (name: RunDimensionName) => ({
    replace: [`${name} = $3`],
    rename: [`${name} = ${renamedName(`row.${name}`)}`],
    keep: [],
  });
  return names.flatMap((name) => assignments(name)[runDimensions[name].erasure]).join(', ');
};
