/** Reads JSON of providers and clients, which is not validated. */

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of an object; none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
