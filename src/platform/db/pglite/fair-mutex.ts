/** A fair lock with a bounded queue and a bounded wait, for callers that share something, such as one connection. */
import { OverCapacity } from '../../service-unavailable.ts';

const waitingCallersMax = 1_000;

interface Place {
  start(): void;
}

export class FairMutex {
  /** A set keeps its order, and whoever gives up leaves it at once. */
  readonly #queue = new Set<Place>();
  readonly #shared: string;
  readonly #waitMsMax: number;
  #busy = false;

  /** `shared` is what they wait for, for whoever reads that they waited in vain. */
  constructor(shared: string, waitMsMax: number) {
    this.#shared = shared;
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
      return Promise.reject(new OverCapacity(`too many callers are waiting for ${this.#shared}`));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.delete(place);
        reject(new OverCapacity(`${this.#shared} was busy for too long`));
      }, this.#waitMsMax);
      const place = {
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#queue.add(place);
    });
  }

  #next(): void {
    const [place] = this.#queue;
    if (place === undefined) {
      this.#busy = false;
    } else {
      this.#queue.delete(place);
      place.start();
    }
  }
}
