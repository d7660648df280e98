/**
 * Sends due deliveries by one transport. A process claims queues (the deliveries of one subscription each) under a lease, works on each
 * until none of its deliveries is due, and releases it. Queues are independent. Those of slow receivers have separate places among the
 * claimed queues, which they give up after one round. So unresponsive receivers delay only themselves and each other.
 *
 * Delivery is at least once: an attempt counts when its outcome is written. If a process dies in between, its leases
 * expire, and unrecorded deliveries are sent again with the same event id.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import { createFailureLog } from '../../../platform/failure-log.ts';
import { webhooksChanged } from './queries.ts';
import { createQueueWorker, type QueueWorkerDependencies } from './queue-worker.ts';
import { type ClaimedQueue, claimQueues, releaseAllQueues, renewLeases } from './subscription-queues.ts';

export interface DispatcherDependencies extends QueueWorkerDependencies {
  /** Maximum time that a stop waits for attempts in flight, and once more after it has aborted them. */
  readonly stopWaitMs?: number;
}

export interface Dispatcher {
  /** Claims queues with due deliveries, and starts to work on them. */
  claim(): Promise<void>;
  /** Renews the leases of this process. */
  renew(): Promise<void>;
  /** Wakes the dispatcher because deliveries may be due. Has no effect before the first claim. */
  poke(): void;
  /** Resolves when no queue is being worked on, and no claim is in progress or about to begin. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const queuesMax = 1_000;
/** Twice the number of slots for slow receivers, so that no slot is idle while the next queue is claimed. */
const slowQueuesMax = 128;
const usualStopWaitMs = 5_000;

export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  const { db, clock, log, transport, stopWaitMs = usualStopWaitMs } = deps;
  const owner = randomUUID();
  const worker = createQueueWorker(deps, owner);
  const inHand = new Map<ClaimedQueue, Promise<void>>();
  const claims = new Set<Promise<void>>();
  let works = false;
  let stopped = false;
  let poked = false;
  const claimFailures = createFailureLog({
    log,
    fields: {},
    messages: {
      failed: 'webhook deliveries delayed: due deliveries could not be read',
      stillFails: 'webhook deliveries still delayed: due deliveries cannot be read',
      recovered: 'due webhook deliveries can be read again',
    },
  });

  webhooksChanged.on(db, () => poke());

  function poke(): void {
    if (works && !stopped && !poked) {
      poked = true;
      setImmediate(() => {
        poked = false;
        claim().then(
          () => claimFailures.succeeded(),
          (error) => claimFailures.failed(error),
        );
      });
    }
  }

  function claim(): Promise<void> {
    works = true;
    const claiming = claimDueQueues().finally(() => claims.delete(claiming));
    claims.add(claiming);
    return claiming;
  }

  async function claimDueQueues(): Promise<void> {
    const slowInHand = [...inHand.keys()].filter(({ is_slow }) => is_slow).length;
    const room = { quick: queuesMax - (inHand.size - slowInHand), slow: slowQueuesMax - slowInHand };
    if (stopped || (room.quick <= 0 && room.slow <= 0)) {
      return;
    }
    const claimed = await claimQueues(db, owner, await agreedNow(db, clock), room, transport.channel);
    const atWork = new Set([...inHand.keys()].map(({ subscription_id }) => subscription_id));
    for (const one of claimed) {
      const { is_slow: _, ...queue } = one;
      if (atWork.has(queue.subscription_id)) {
        // The lease expired while this process was still working on the queue; the claim has renewed it.
        continue;
      }
      inHand.set(
        one,
        worker
          .work(one)
          .catch((err) =>
            log.warn({ ...queue, err }, 'webhook deliveries of subscription delayed until its lease expires'),
          )
          .finally(() => inHand.delete(one)),
      );
    }
  }

  async function idle(): Promise<void> {
    while (poked || inHand.size + claims.size > 0) {
      // A poke becomes a claim in the next turn.
      await (poked ? nextTurn() : Promise.allSettled([...inHand.values(), ...claims]));
    }
  }

  return {
    claim,
    poke,
    idle,
    async renew() {
      if (inHand.size > 0) {
        await renewLeases(db, owner, [...inHand.keys()]);
      }
    },
    async stop() {
      stopped = true;
      worker.stop();
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      worker.abort();
      // Waits for a limited time only: an attempt may hang, but the process must end.
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      await releaseAllQueues(db, owner).catch(() => undefined);
    },
  };
}
