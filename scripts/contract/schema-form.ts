/** Normalizes JSON schemas: no annotations, one form of alternatives, a fixed order. */

export type Schema = { readonly [Keyword: string]: unknown };

/** Annotations for readers; changing them is not breaking. */
const annotations = new Set(['description', 'title', 'examples', '$comment']);

export function normalize(schema: unknown): Schema {
  if (typeof schema !== 'object' || schema === null) {
    // `true` and `false` are schemas too.
    return schema === false ? { not: {} } : {};
  }
  const { const: constant, oneOf, anyOf, ...rest } = schema as Schema;
  const alternatives = (oneOf ?? anyOf) as readonly unknown[] | undefined;
  const result: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(rest)) {
    if (!annotations.has(keyword)) {
      result[keyword] = normalizeKeyword(keyword, value);
    }
  }
  if (constant !== undefined) {
    result.enum = [constant];
  }
  if (alternatives !== undefined) {
    const forms = alternatives.map(normalize);
    if (forms.every(isWords)) {
      result.type ??= [...new Set(forms.flatMap((form) => typesOf(form) ?? []))].sort();
      result.enum = sorted(forms.flatMap((form) => form.enum as unknown[]));
    } else {
      result.anyOf = sorted(forms);
    }
  }
  return Object.fromEntries(Object.entries(result).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function normalizeKeyword(keyword: string, value: unknown): unknown {
  switch (keyword) {
    case 'type':
      return [value].flat().sort();
    case 'enum':
    case 'required':
      return sorted(value as unknown[]);
    case 'properties':
    case 'patternProperties':
      return normalizeAll(value as Schema);
    case 'items':
      return normalize(value);
    case 'additionalProperties':
      return typeof value === 'boolean' ? value : normalize(value);
    default:
      return value;
  }
}

function normalizeAll(schemas: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schemas)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, schema]) => [name, normalize(schema)]),
  );
}

export function typesOf(schema: Schema): string[] | undefined {
  return schema.type as string[] | undefined;
}

function isWords(schema: Schema): boolean {
  return schema.enum !== undefined && Object.keys(schema).every((word) => word === 'enum' || word === 'type');
}

function sorted<Item>(items: readonly Item[]): Item[] {
  return [...items].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
