/** Cancels a call in progress. Does the same as an `AbortController`, which costs several times as much for each call. */
export class Cancellation {
  #isCancelled = false;
  #listeners: Set<() => void> | undefined;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Calls each listener once. */
  cancel(): void {
    if (this.#isCancelled) {
      return;
    }
    this.#isCancelled = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) {
      listener();
    }
  }

  /** Adds a listener. If the call was cancelled before, calls it immediately. */
  onCancel(listener: () => void): void {
    if (this.#isCancelled) {
      listener();
      return;
    }
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
  }

  off(listener: () => void): void {
    this.#listeners?.delete(listener);
  }
}
