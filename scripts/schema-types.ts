/** Renders schemas of the OpenAPI document as TypeScript types. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

/** Returns the name of the type of a schema; undefined if the type is written out. */
export type NameOf = (schema: Schema) => string | undefined;

/** Names a type by the component that the schema refers to. */
export const refName = ({ $ref }: { readonly $ref?: string }) => $ref?.slice($ref.lastIndexOf('/') + 1);

export function typeText(schema: Schema, nameOf: NameOf, indent = ''): string {
  const name = nameOf(schema);
  if (name !== undefined) {
    const isNullable = Array.isArray(schema.type) && schema.type.includes('null');
    return `${name}${isNullable ? ' | null' : ''}`;
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map((part) => typeText(part, nameOf, indent)).join(' | ');
  }
  if (schema.enum !== undefined) {
    return schema.enum.map(literal).join(' | ');
  }
  if ('const' in schema) {
    return literal(schema.const);
  }
  const types = [schema.type ?? []].flat();
  return types.length === 0
    ? 'unknown'
    : types.map((type) => textOfType(type, schema, nameOf, indent)).join(' | ');
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function textOfType(type: string, schema: Schema, nameOf: NameOf, indent: string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const item = typeText(schema.items ?? {}, nameOf, indent);
      return `readonly ${/ \| /.test(item) && !/^\{.*\}$/s.test(item) ? `(${item})` : item}[]`;
    }
    case 'object':
      return objectType(schema, nameOf, indent);
    default:
      return type;
  }
}

function objectType(schema: Schema, nameOf: NameOf, indent: string): string {
  const { properties, required = [], additionalProperties, patternProperties } = schema;
  if (properties === undefined) {
    const values =
      Object.values(patternProperties ?? {})[0] ??
      (typeof additionalProperties === 'object' ? additionalProperties : {});
    return `Readonly<Record<string, ${typeText(values, nameOf, indent)}>>`;
  }
  if (Object.keys(properties).length === 0) {
    return 'Readonly<Record<string, never>>';
  }
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(
    ([name, part]) =>
      `${inner}readonly ${propertyName(name)}${required.includes(name) ? '' : '?'}: ${typeText(part, nameOf, inner)};\n`,
  );
  return `{\n${lines.join('')}${indent}}`;
}

export function propertyName(name: string): string {
  return /^\w+$/.test(name) ? name : `'${name}'`;
}
