/** Converts between PostgreSQL's text format and JavaScript, for both engines. Uses the parsers of `pg` with two exceptions. */
import pg from 'pg';

type Parser = (text: string) => unknown;

const overrides = new Map<number, Parser>([
  [pg.types.builtins.INT8, BigInt],
  // Kept as text: `pg` would return a Date in the process's time zone, but a day is not an instant.
  [pg.types.builtins.DATE, (text) => text],
]);

export function parserOf(typeId: number): Parser {
  return overrides.get(typeId) ?? (pg.types.getTypeParser(typeId, 'text') as Parser);
}

/** Set per connection, because the global parsers of `pg` would affect its other users in the process. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (typeId, format) =>
    format === 'binary' ? pg.types.getTypeParser(typeId, format) : parserOf(typeId),
};

/** Returns a value in PostgreSQL's text format. The server infers the type. */
export function toText(value: unknown): string | null {
  if (value === null || value === undefined) {
    return null;
  }
  if (value instanceof Date) {
    return value.toISOString();
  }
  if (Array.isArray(value)) {
    return `{${value.map((item) => quoted(toText(item))).join(',')}}`;
  }
  if (typeof value === 'object') {
    throw new TypeError('an object must be passed as JSON text');
  }
  return String(value);
}

function quoted(text: string | null): string {
  return text === null ? 'NULL' : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Returns a value as JSON. Bigints become strings. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Only tried after a failure, because a replacer takes several times as long, and few values contain a bigint.
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part));
  }
}

export type ColumnTypes = Readonly<
  Record<string, 'text' | 'text[]' | 'int8' | 'int4' | 'bool' | 'timestamptz' | 'jsonb'>
>;
