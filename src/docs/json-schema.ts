/** The parts of JSON Schema that the documentation shows. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

export interface Schemas {
  /** Returns the schema that a reference names. */
  lookup(reference: string): JsonSchema | undefined;
  /** Anchors of schemas that the page describes elsewhere, by name. */
  readonly linked: ReadonlyMap<string, string>;
}

export const noSchemas: Schemas = { lookup: () => undefined, linked: new Map() };

export function nameOfReference(reference: string | undefined): string | undefined {
  return reference?.replace('#/components/schemas/', '');
}

/** Returns a link to the schema if the page describes it elsewhere. */
export function linkTo({ $ref }: JsonSchema, { linked }: Schemas): string | undefined {
  const name = nameOfReference($ref) ?? '';
  const anchor = linked.get(name);
  return anchor === undefined ? undefined : `[${name}](#${anchor})`;
}

/** Follows a reference. Properties next to the reference take precedence. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (schema.$ref === undefined) {
    return schema;
  }
  const { $ref, ...own } = schema;
  return { ...resolved(schemas.lookup($ref) ?? {}, schemas), ...own };
}

/** Returns the type in words, such as `date-time or null` or `list of string`. */
export function typeName(schema: JsonSchema, schemas: Schemas): string {
  const link = linkTo(schema, schemas);
  if (link !== undefined) {
    return link;
  }
  const { type, enum: words, const: only, format, items, anyOf, oneOf } = resolved(schema, schemas);
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) {
    return [...new Set(choices.map((choice) => typeName(choice, schemas)))].join(' or ');
  }
  if (only !== undefined) {
    return `\`${String(only)}\``;
  }
  if (words !== undefined) {
    return words.map((word) => `\`${String(word)}\``).join(', ');
  }
  if (items !== undefined) {
    return `list of ${typeName(items, schemas)}`;
  }
  return format ?? [type ?? 'any'].flat().join(' or ');
}
