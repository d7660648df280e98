/** The fields of an object as a Markdown table. Fields of nested objects and of items are listed below the field that contains them. */
import { type JsonSchema, linkTo, noSchemas, resolved, type Schemas, typeName } from './json-schema.ts';

interface TableField {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/** Maximum depth of the table. Deeper fields are in the OpenAPI document. */
export const depthMax = 3;

/** Returns the table; an empty text for an object without fields. A `firstDepth` of `depthMax` leaves out nested fields. */
export function fieldTable(schema: JsonSchema, schemas: Schemas = noSchemas, firstDepth = 1): string {
  const fields = fieldsOf(schema, schemas, '', firstDepth);
  return fields.length === 0 ? '' : rowsOf(['field', 'type', ''], fields);
}

export function rowsOf(header: readonly [string, string, string], fields: readonly TableField[]): string {
  const rows = fields.map(({ name, type, text }) => `| \`${name}\` | ${cell(type)} | ${cell(text)} |`);
  return `| ${header.join(' | ')} |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function fieldsOf(schema: JsonSchema, schemas: Schemas, prefix: string, depth: number): TableField[] {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).flatMap(([name, field]) => {
    const { description = '' } = resolved(field, schemas);
    const optional = required.includes(name) ? '' : ', optional';
    const row = {
      name: `${prefix}${name}`,
      type: `${typeName(field, schemas)}${optional}`,
      text: description,
    };
    return depth === depthMax ? [row] : [row, ...innerFields(field, schemas, row.name, depth)];
  });
}

function innerFields(field: JsonSchema, schemas: Schemas, name: string, depth: number): TableField[] {
  if (linkTo(field, schemas) !== undefined) {
    return [];
  }
  const { items, anyOf, oneOf, properties } = resolved(field, schemas);
  if (items !== undefined) {
    return linkTo(items, schemas) === undefined ? fieldsOf(items, schemas, `${name}[].`, depth + 1) : [];
  }
  if (properties !== undefined) {
    return fieldsOf(field, schemas, `${name}.`, depth + 1);
  }
  const object = (anyOf ?? oneOf)?.find((choice) => resolved(choice, schemas).properties !== undefined);
  return object === undefined ? [] : innerFields(object, schemas, name, depth);
}

/** Removes line breaks and escapes vertical bars, which would end a table cell. */
function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}
