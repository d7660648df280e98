/**
 * Limits concurrent work of tenants, and lets them take turns: a tenant with much work waits behind its own work, not
 * the others behind all of it. Both the work in progress and the work that waits are shared fairly (`FairShare`).
 */
import { FairShare } from './fair-share.ts';
import { OverCapacity } from './service-unavailable.ts';

export interface FairQueueOptions {
  /** Name of what the work waits for, for error messages. */
  readonly resource: string;
  readonly concurrency: number;
  readonly waitingMax: number;
  readonly waitMsMax: number;
}

interface Waiter {
  start(): void;
}

export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #running: FairShare;
  readonly #places: FairShare;
  /** Waiting work by tenant. The tenant whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<Waiter>>();

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#running = new FairShare({ capacity: options.concurrency });
    this.#places = new FairShare({ capacity: options.waitingMax });
  }

  /** Number of callers that wait. */
  get waiting(): number {
    return this.#places.used;
  }

  async run<Result>(tenant: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting.has(tenant) || !this.#running.tryTake(tenant)) {
      await this.#wait(tenant);
    }
    try {
      return await work();
    } finally {
      this.#running.release(tenant);
      this.#startNext();
    }
  }

  #wait(tenant: string): Promise<void> {
    const { resource, waitMsMax } = this.#options;
    if (!this.#places.tryTake(tenant)) {
      return Promise.reject(new OverCapacity(`too many requests are waiting for ${resource}`));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#remove(tenant, waiter);
        reject(new OverCapacity(`${resource} is busy`));
      }, waitMsMax);
      const waiter: Waiter = {
        start: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const queue = this.#waiting.get(tenant);
      if (queue === undefined) {
        this.#waiting.set(tenant, new Set([waiter]));
      } else {
        queue.add(waiter);
      }
    });
  }

  #remove(tenant: string, waiter: Waiter): void {
    const queue = this.#waiting.get(tenant);
    if (queue?.delete(waiter) === true) {
      this.#places.release(tenant);
      if (queue.size === 0) {
        this.#waiting.delete(tenant);
      }
    }
  }

  /** Starts the next work in turn. The rest of its tenant waits behind the other tenants. */
  #startNext(): void {
    for (const [tenant, queue] of this.#waiting) {
      const [waiter] = queue;
      if (waiter !== undefined && this.#running.tryTake(tenant)) {
        this.#remove(tenant, waiter);
        if (this.#waiting.delete(tenant)) {
          this.#waiting.set(tenant, queue);
        }
        waiter.start();
        return;
      }
    }
  }
}
