/**
 * Runs long computations in slices. The event loop does all other work between them, and tenants take turns (`TurnOrder`), so that
 * a tenant with little work overtakes those with much. A computation is a generator that yields after each piece, which takes a
 * fraction of a millisecond.
 */
import { performance } from 'node:perf_hooks';
import { TurnOrder } from './turn-order.ts';

export type Sliced<Result> = Generator<void, Result, void>;

interface WaitingWork {
  /** Works until the time of the current turn is used up. Returns true at the end of the computation. */
  advance(): boolean;
}

/** Time for all computations in one turn of the event loop. */
const turnMs = 5;

export class SlicedWork {
  readonly #waiting = new Map<string, WaitingWork[]>();
  readonly #order = new TurnOrder();
  readonly #nowMs: () => number;
  #usedMs = 0;
  #isScheduled = false;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Runs the computation. Returns its result synchronously if nothing else waits and the work is short. */
  run<Result>(tenant: string, work: Sliced<Result>): Result | Promise<Result> {
    this.#schedule();
    if (this.#waiting.size === 0 && this.#usedMs < turnMs) {
      const step = this.#slice(work);
      if (step.done === true) {
        return step.value;
      }
    }
    return new Promise((resolve, reject) => {
      this.#add(tenant, {
        advance: () => {
          try {
            const step = this.#slice(work);
            if (step.done === true) {
              resolve(step.value);
            }
            return step.done === true;
          } catch (error) {
            reject(error);
            return true;
          }
        },
      });
    });
  }

  #slice<Result>(work: Sliced<Result>): IteratorResult<void, Result> {
    const startedMs = this.#nowMs();
    const endMs = startedMs + turnMs - this.#usedMs;
    try {
      let step = work.next();
      while (step.done !== true && this.#nowMs() < endMs) {
        step = work.next();
      }
      return step;
    } finally {
      this.#usedMs += this.#nowMs() - startedMs;
    }
  }

  #add(tenant: string, waiting: WaitingWork): void {
    const queue = this.#waiting.get(tenant);
    if (queue === undefined) {
      this.#waiting.set(tenant, [waiting]);
    } else {
      queue.push(waiting);
    }
  }

  #schedule(): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#onTurn);
    }
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false;
    this.#usedMs = 0;
    while (this.#waiting.size > 0 && this.#usedMs < turnMs) {
      this.#advanceFirst();
    }
    if (this.#waiting.size > 0) {
      this.#schedule();
    } else {
      this.#order.clear();
    }
  };

  /** Advances the computation whose turn it is. Computations of one tenant take turns too. */
  #advanceFirst(): void {
    const tenant = this.#order.first(this.#waiting.keys()) as string;
    const queue = this.#waiting.get(tenant) as WaitingWork[];
    const first = queue.shift() as WaitingWork;
    this.#order.count(tenant);
    if (!first.advance()) {
      queue.push(first);
    } else if (queue.length === 0) {
      this.#waiting.delete(tenant);
    }
  }
}

/** Runs a short computation to its end in one step. */
export function completed<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      return step.value;
    }
  }
}
