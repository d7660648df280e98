/** Returns one object for equal values, so that very many records which have the same few of them need less memory. */
export class SharedValues<Value> {
  readonly #byName = new Map<string, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the value that was first given this name; `value` itself if there is none. */
  shared(name: string, value: Value): Value {
    const there = this.#byName.get(name);
    if (there !== undefined) {
      return there;
    }
    if (this.#byName.size >= this.#max) {
      this.#byName.clear();
    }
    // A copy, because a string that was put together from parts keeps all of them in memory.
    this.#byName.set(JSON.parse(JSON.stringify(name)), value);
    return value;
  }
}
