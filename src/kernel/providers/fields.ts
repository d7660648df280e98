/** Reads unvalidated JSON of providers and clients. */

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of an object; none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
