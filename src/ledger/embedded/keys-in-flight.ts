/**
 * Idempotency keys that are in use, or whose hold is not durable yet. Until the hold is durable, neither the response nor a replay
 * may be sent.
 */
export class KeysInFlight {
  readonly #last = new Map<string, Promise<void>>();

  /** Starts the work once all earlier work of the same key has ended. */
  async serialize<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    for (let before = this.#last.get(key); before !== undefined; before = this.#last.get(key)) {
      await before;
    }
    const result = work();
    const done = () => void this.#last.delete(key);
    this.#last.set(key, result.then(done, done));
    return result;
  }
}
