/**
 * Limits the concurrent work of tenants, and lets tenants take turns (`TurnOrder`), so that a tenant with little work overtakes
 * those with much. Running work and places for waiting work are shared fairly (`FairShare`). If all places are taken, the tenant
 * with the longest queue loses its newest one, so that only tenants with much work are rejected.
 *
 * Work of the service itself belongs to no tenant and may serve many of them. It waits while it has used more time than the
 * tenants. So each side gets half of the time if both have enough work.
 */
import { performance } from 'node:perf_hooks';
import { FairShare } from './fair-share.ts';
import { OverCapacity } from './service-unavailable.ts';
import { TurnOrder } from './turn-order.ts';

export interface FairQueueOptions {
  /** Name of the resource that the work waits for, for error messages. */
  readonly resource: string;
  readonly concurrency: number;
  readonly waitingMax: number;
  readonly waitMsMax: number;
  /**
   * Returns the current maximum of concurrent work, if it is lower than `concurrency`. Long work does not count, because it mostly
   * waits.
   */
  limit?(): number;
  /** Default: the clock of this process. */
  nowMs?(): number;
}

interface Waiter {
  start(): void;
  reject(error: Error): void;
}

/** Stands for the service itself among the tenants. */
const service = '';
/** Maximum time that either side can be ahead of the other, so that old usage does not count. */
const aheadMsMax = 50;
/** Time after which work counts as long: it no longer counts against `limit`. */
const longMs = 50;

export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #running: FairShare;
  readonly #places: FairShare;
  /** Waiting work by tenant. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #order = new TurnOrder();
  readonly #nowMs: () => number;
  /** Number of long work items that are running. */
  #long = 0;
  /** Time by which the work of the service is ahead of that of the tenants. */
  #serviceAheadMs = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#running = new FairShare({ capacity: options.concurrency });
    this.#places = new FairShare({ capacity: options.waitingMax });
  }

  /** Number of callers that wait. */
  get waiting(): number {
    return this.#places.used;
  }

  get running(): number {
    return this.#running.used;
  }

  /** Runs the work when it is its turn. `tenant` is undefined for work of the service itself. */
  async run<Result>(tenant: string = service, work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting.has(tenant) || this.#isAtLimit() || !this.#hasRoom(tenant)) {
      await this.#wait(tenant);
    } else {
      this.#take(tenant);
    }
    const startedMs = this.#nowMs();
    const stopCounting = this.#countIfLong();
    try {
      return await work();
    } finally {
      stopCounting?.();
      this.#running.release(tenant);
      this.#countTime(tenant, this.#nowMs() - startedMs);
      this.#startWaiting();
    }
  }

  /** Starts to watch whether the work becomes long. Returns a function that must be called at the end of the work. */
  #countIfLong(): (() => void) | undefined {
    if (this.#options.limit === undefined) {
      return undefined;
    }
    let isLong = false;
    const timer = setTimeout(() => {
      isLong = true;
      this.#long += 1;
      this.#startWaiting();
    }, longMs);
    return () => {
      clearTimeout(timer);
      this.#long -= isLong ? 1 : 0;
    };
  }

  #isAtLimit(): boolean {
    const limit = this.#options.limit?.() ?? Number.POSITIVE_INFINITY;
    return this.#running.used - this.#long >= limit;
  }

  #hasRoom(tenant: string): boolean {
    return tenant === service ? this.#running.used < this.#running.capacity : this.#running.hasRoom(tenant);
  }

  #take(tenant: string): void {
    this.#running.take(tenant);
    if (tenant !== service) {
      this.#order.count(tenant);
    }
  }

  #wait(tenant: string): Promise<void> {
    const { resource, waitMsMax } = this.#options;
    const message = `too many requests are waiting for ${resource}`;
    if (!this.#places.tryTake(tenant) && !this.#takePlaceOfLongest(tenant, message)) {
      return Promise.reject(new OverCapacity(message));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#remove(tenant, waiter);
        reject(new OverCapacity(`${resource} is busy`));
      }, waitMsMax);
      const waiter: Waiter = {
        start() {
          clearTimeout(timer);
          resolve();
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
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

  /** Frees a place: rejects the newest work of the tenant with the longest queue, unless the queue of `tenant` is as long. */
  #takePlaceOfLongest(tenant: string, message: string): boolean {
    let longest = tenant;
    let length = this.#places.usedBy(tenant) + 1;
    for (const [other, queue] of this.#waiting) {
      if (queue.size > length && other !== service) {
        longest = other;
        length = queue.size;
      }
    }
    const newest = longest === tenant ? undefined : [...(this.#waiting.get(longest) ?? [])].at(-1);
    if (newest === undefined) {
      return false;
    }
    this.#remove(longest, newest);
    newest.reject(new OverCapacity(message));
    this.#places.take(tenant);
    return true;
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

  #startWaiting(): void {
    for (let tenant = this.#next(); tenant !== undefined; tenant = this.#next()) {
      const [waiter] = this.#waiting.get(tenant) as Set<Waiter>;
      this.#take(tenant);
      this.#remove(tenant, waiter as Waiter);
      waiter?.start();
    }
    if (this.#running.used === 0) {
      this.#order.clear();
      this.#serviceAheadMs = 0;
    }
  }

  #countTime(tenant: string, elapsedMs: number): void {
    const aheadMs = this.#serviceAheadMs + (tenant === service ? elapsedMs : -elapsedMs);
    this.#serviceAheadMs = Math.min(Math.max(aheadMs, -aheadMsMax), aheadMsMax);
  }

  /** Returns the tenant whose work starts next. */
  #next(): string | undefined {
    if (this.#waiting.size === 0 || this.#isAtLimit()) {
      return undefined;
    }
    const mayRun = (tenant: string) => this.#waiting.has(tenant) && this.#hasRoom(tenant);
    if (this.#serviceAheadMs <= 0 && mayRun(service)) {
      return service;
    }
    const tenants = [...this.#waiting.keys()].filter((tenant) => tenant !== service && mayRun(tenant));
    return this.#order.first(tenants) ?? (mayRun(service) ? service : undefined);
  }
}
