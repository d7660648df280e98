/** How values look in JavaScript, the same for both engines: the parsers that `pg` uses, with two of our own. */
import pg from 'pg';

type Parser = (text: string) => unknown;

const own = new Map<number, Parser>([
  [pg.types.builtins.INT8, BigInt],
  // A day is not an instant, and `pg` would make one of it, in the process's time zone.
  [pg.types.builtins.DATE, (text) => text],
]);

export function parserOf(typeId: number): Parser {
  return own.get(typeId) ?? (pg.types.getTypeParser(typeId, 'text') as Parser);
}

/** One set of parsers per process would leak into other users of `pg`; these belong to our connections alone. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (typeId, format) =>
    format === 'binary' ? pg.types.getTypeParser(typeId, format) : parserOf(typeId),
};

/** A value as PostgreSQL reads it; the server knows which type it has to be. */
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
    throw new TypeError('an object is passed as JSON text');
  }
  return String(value);
}

function quoted(text: string | null): string {
  return text === null ? 'NULL' : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** JSON of values that may hold integers beyond its own. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Asking about every part takes several times as long, and few have any.
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part));
  }
}

export type ColumnTypes = Readonly<
  Record<string, 'text' | 'text[]' | 'int8' | 'int4' | 'bool' | 'timestamptz' | 'jsonb'>
>;
