/**
 * Bounds the waiting deliveries of each subscription. Counting them reads all of them, so a process counts rarely: it creates a
 * part of the deliveries that the last count has left room for, then counts again. Several processes may exceed the maximum by
 * that part.
 */
import { performance } from 'node:perf_hooks';
import type { Transaction } from '../../../platform/db/database.ts';
import { countWaiting, type NewDelivery } from './delivery-queries.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';

/** Maximum number of waiting deliveries of a subscription. Beyond it, new deliveries are recorded as failed; they can be redelivered. */
export const waitingMax = 50_000;

/** Part of the room that may be used before the next count. */
const uncountedPart = 0.25;
/** A transaction creates about 1,000 deliveries. With less than that left to use, it counts. */
const uncountedMin = 2_000;
/** Other processes create deliveries too. */
const countedForMs = 10_000;
const queuesMax = 20_000;

interface QueueRoom {
  /** Places that are left if nothing was sent since the last count. */
  free: number;
  /** Deliveries that may be created before the next count. */
  uncounted: number;
  readonly countedAtMs: number;
}

export class WaitingRoom {
  readonly #queues = new Map<string, QueueRoom>();
  readonly #nowMs: () => number;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Returns the number of further deliveries that may wait; at most 0 if there is no room. */
  async of(tx: Transaction, queue: SubscriptionQueue): Promise<number> {
    const nowMs = this.#nowMs();
    const known = this.#queues.get(queueKey(queue));
    if (known !== undefined && known.uncounted >= uncountedMin && nowMs - known.countedAtMs < countedForMs) {
      return known.free;
    }
    const free = waitingMax - (await countWaiting(tx, queue, waitingMax));
    if (this.#queues.size >= queuesMax) {
      this.#queues.clear();
    }
    const uncounted = Math.floor(free * uncountedPart);
    this.#queues.set(queueKey(queue), { free, uncounted, countedAtMs: nowMs });
    return free;
  }

  /** Records deliveries that are about to be created. If they are not, the next count comes earlier than it had to. */
  use(deliveries: readonly NewDelivery[]): void {
    for (const delivery of deliveries) {
      const known = this.#queues.get(queueKey(delivery));
      if (known !== undefined && delivery.state === 'waiting') {
        known.free -= 1;
        known.uncounted -= 1;
      }
    }
  }
}

function queueKey({ org_id, subscription_id }: SubscriptionQueue): string {
  return `${org_id} ${subscription_id}`;
}
