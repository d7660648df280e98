/**
 * Spreads the work of a burst over turns of the event loop. Hundreds of calls that start or end together would take hundreds of
 * milliseconds in one turn, while no token of an open stream is forwarded.
 */
export class Turns {
  readonly #perTurn: number;
  #startedNow = 0;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Returns undefined if the work may start now, otherwise a promise of its turn. Turns are given in the order of the calls. */
  next(): Promise<void> | undefined {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#onTurn);
    }
    if (this.#startedNow < this.#perTurn && this.#waiting.length === 0) {
      this.#startedNow += 1;
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  readonly #onTurn = (): void => {
    const started = this.#waiting.splice(0, this.#perTurn);
    this.#startedNow = started.length;
    this.#isScheduled = started.length > 0;
    if (this.#isScheduled) {
      setImmediate(this.#onTurn);
    }
    for (const start of started) {
      start();
    }
  };
}
