/**
 * Keeps the last results of a lookup, and returns them while the database is unavailable, when caches of database rows are
 * bypassed. Only for calls that are allowed during an outage.
 */
export interface LastKnownOptions<Args extends readonly unknown[]> {
  keyOf(...args: Args): string;
  /** Returns true if the lookup failed because the database is unavailable. */
  isOutage(error: unknown): boolean;
  readonly maxEntries: number;
}

export function withLastKnown<Args extends readonly unknown[], Value>(
  find: (...args: Args) => Value | Promise<Value>,
  { keyOf, isOutage, maxEntries }: LastKnownOptions<Args>,
): (...args: Args) => Value | Promise<Value> {
  const results = new Map<string, Value>();

  function store(key: string, value: Value): Value {
    if (results.get(key) !== value) {
      if (results.size >= maxEntries) {
        results.clear();
      }
      results.set(key, value);
    }
    return value;
  }

  return (...args) => {
    const key = keyOf(...args);
    const found = find(...args);
    if (!(found instanceof Promise)) {
      return store(key, found);
    }
    return found.then(
      (value) => store(key, value),
      (error) => {
        if (!results.has(key) || !isOutage(error)) {
          throw error;
        }
        return results.get(key) as Value;
      },
    );
  };
}
