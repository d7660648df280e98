/** A fair mutex (first come, first served) with a bounded queue and a bounded wait. */
import { OverCapacity } from '../../service-unavailable.ts';

const waitingCallersMax = 1_000;

interface Waiter {
  start(): void;
}

export class FairMutex {
  /** Waiting callers in order; a caller that gives up is removed at once. */
  readonly #queue = new Set<Waiter>();
  readonly #resource: string;
  readonly #waitMsMax: number;
  #busy = false;

  /** `resource` is the name of the locked resource in error messages. */
  constructor(resource: string, waitMsMax: number) {
    this.#resource = resource;
    this.#waitMsMax = waitMsMax;
  }

  get busy(): boolean {
    return this.#busy;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#wait();
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(): Promise<void> {
    if (!this.#busy) {
      this.#busy = true;
      return Promise.resolve();
    }
    if (this.#queue.size >= waitingCallersMax) {
      return Promise.reject(new OverCapacity(`too many callers are waiting for ${this.#resource}`));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.delete(waiter);
        reject(new OverCapacity(`${this.#resource} is busy`));
      }, this.#waitMsMax);
      const waiter = {
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#queue.add(waiter);
    });
  }

  #next(): void {
    const [waiter] = this.#queue;
    if (waiter === undefined) {
      this.#busy = false;
    } else {
      this.#queue.delete(waiter);
      waiter.start();
    }
  }
}
