/** The fields of an object as a Markdown table; fields of nested objects and of items are listed below their own. */
import { type JsonSchema, type Lookup, nothing, resolved, typeName } from './json-schema.ts';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/** Deeper fields are in the OpenAPI document. */
const depthMax = 3;

/** Returns an empty text for an object without fields. */
export function fieldTable(schema: JsonSchema, lookup: Lookup = nothing): string {
  const fields = fieldsOf(schema, lookup, '', 1);
  return fields.length === 0 ? '' : rowsOf(['field', 'type', ''], fields);
}

export function rowsOf(header: readonly [string, string, string], fields: readonly Field[]): string {
  const rows = fields.map(({ name, type, text }) => `| \`${name}\` | ${cell(type)} | ${cell(text)} |`);
  return `| ${header.join(' | ')} |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function fieldsOf(schema: JsonSchema, lookup: Lookup, prefix: string, depth: number): Field[] {
  const { properties = {}, required = [] } = resolved(schema, lookup);
  return Object.entries(properties).flatMap(([name, field]) => {
    const { description = '' } = resolved(field, lookup);
    const optional = required.includes(name) ? '' : ', optional';
    const row = {
      name: `${prefix}${name}`,
      type: `${typeName(field, lookup)}${optional}`,
      text: description,
    };
    return depth === depthMax ? [row] : [row, ...innerFields(field, lookup, row.name, depth)];
  });
}

function innerFields(field: JsonSchema, lookup: Lookup, name: string, depth: number): Field[] {
  const { items, anyOf, oneOf, properties } = resolved(field, lookup);
  if (items !== undefined) {
    return fieldsOf(items, lookup, `${name}[].`, depth + 1);
  }
  if (properties !== undefined) {
    return fieldsOf(field, lookup, `${name}.`, depth + 1);
  }
  const object = (anyOf ?? oneOf)?.find((choice) => resolved(choice, lookup).properties !== undefined);
  return object === undefined ? [] : fieldsOf(object, lookup, `${name}.`, depth + 1);
}

/** A cell ends at a line break or a vertical bar. */
function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}
