/** Returns one object for equal values. It saves memory if many records have the same few values. */
export class SharedValues<Value> {
  readonly #byName = new Map<string, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the first value that was stored under this name; stores and returns `value` if there is none. */
  shared(name: string, value: Value): Value {
    const there = this.#byName.get(name);
    if (there !== undefined) {
      return there;
    }
    if (this.#byName.size >= this.#max) {
      this.#byName.clear();
    }
    // Copies the name, because a string that was concatenated keeps all its parts in memory.
    this.#byName.set(JSON.parse(JSON.stringify(name)), value);
    return value;
  }
}
