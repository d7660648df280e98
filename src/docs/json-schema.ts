/** The parts of JSON Schema that the documentation shows. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
}

/** Returns the schema that a reference names. */
export type Lookup = (reference: string) => JsonSchema | undefined;

export const nothing: Lookup = () => undefined;

/** Follows references, and the first of several alternatives that is not null. */
export function resolved(schema: JsonSchema, lookup: Lookup): JsonSchema {
  if (schema.$ref !== undefined) {
    const { $ref: _, ...own } = schema;
    return { ...resolved(lookup(schema.$ref) ?? {}, lookup), ...own };
  }
  return schema;
}

/** Returns the type in words, such as `date-time or null` or `list of string`. */
export function typeName(schema: JsonSchema, lookup: Lookup): string {
  const { type, enum: words, const: only, format, items, anyOf, oneOf } = resolved(schema, lookup);
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) {
    return [...new Set(choices.map((choice) => typeName(choice, lookup)))].join(' or ');
  }
  if (only !== undefined) {
    return `\`${String(only)}\``;
  }
  if (words !== undefined) {
    return words.map((word) => `\`${String(word)}\``).join(', ');
  }
  if (items !== undefined) {
    return `list of ${typeName(items, lookup)}`;
  }
  return format ?? [type ?? 'any'].flat().join(' or ');
}
