/**
 * Sends due deliveries by one transport. A process claims queues (the deliveries of one subscription each) under a lease, works on each
 * until none of its deliveries is due, and releases it. Queues are independent: each has few attempts in flight, and
 * only one while its receiver is slow or unknown. Slow receivers share separate slots, and separate places among the
 * claimed queues, which they give up after one round. So unresponsive receivers delay only themselves and each other.
 * No org uses more than half of all slots.
 *
 * Delivery is at least once: an attempt counts when its outcome is written. If a process dies in between, its leases
 * expire, and unrecorded deliveries are sent again with the same event id.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createFailureLog } from '../../../platform/failure-log.ts';
import type { Faults } from '../../../platform/faults.ts';
import type { Log } from '../../../platform/log.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import type { Appending } from '../../compliance/audit/index.ts';
import { type DueDelivery, failWaiting, selectDue } from './delivery-queries.ts';
import { disableSubscription } from './disabling.ts';
import type { DeliveryCounts } from './metrics.ts';
import { eventGone, outcomeOf } from './outcomes.ts';
import { Pace, slowMs } from './pace.ts';
import { webhooksChanged } from './queries.ts';
import { createReceivers, type Receiver } from './receivers.ts';
import { createRecorder } from './recorder.ts';
import { Slots } from './slots.ts';
import {
  claimQueues,
  releaseAllQueues,
  releaseQueue,
  renewLeases,
  type SubscriptionQueue,
} from './subscription-queues.ts';
import type { Transport } from './transport.ts';

export interface DispatcherDependencies extends Appending {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly faults: Faults;
  readonly secrets: Secrets;
  readonly transport: Transport;
  readonly counts: DeliveryCounts;
  random?(): number;
  /** A monotonic clock. */
  nowMs?(): number;
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
const shareOfAnOrg = 0.5;
const deliveriesPerPage = { careful: 10, usual: 200 };
const failedPerBatch = 1_000;
const failingMsMax = 5 * 24 * 3_600_000;
const usualStopWaitMs = 5_000;

/** A claimed queue, and the pace of its receiver. */
interface Work {
  readonly queue: SubscriptionQueue;
  /**
   * True if the receiver was slow when the queue was claimed. The queue then uses one of the places for slow receivers.
   */
  readonly wasSlow: boolean;
  readonly pace: Pace;
  /** Difference between the database clock and the clock of this process. */
  aheadMs: number;
}

export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  const { db, clock, ids, heads, log, faults, transport, counts } = deps;
  const { random = Math.random, stopWaitMs = usualStopWaitMs, nowMs = () => performance.now() } = deps;
  const owner = randomUUID();
  const receivers = createReceivers(deps);
  const recorder = createRecorder(db, log, async ({ failing_since, ...queue }, at) => {
    if (at.getTime() - failing_since.getTime() >= failingMsMax) {
      await disableSubscription(db, { ids, heads }, queue, { reason: 'failing' }, at);
    }
  });
  const slots = {
    quick: new Slots(transport.attempts.overall, Math.ceil(transport.attempts.overall * shareOfAnOrg)),
    slow: new Slots(transport.attempts.slow, Math.ceil(transport.attempts.slow * shareOfAnOrg)),
  };
  const inHand = new Map<Work, Promise<void>>();
  const claims = new Set<Promise<void>>();
  let works = false;
  let stopped = false;
  let aborted = false;
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
    const slowInHand = [...inHand.keys()].filter(({ wasSlow }) => wasSlow).length;
    const room = { quick: queuesMax - (inHand.size - slowInHand), slow: slowQueuesMax - slowInHand };
    if (stopped || (room.quick <= 0 && room.slow <= 0)) {
      return;
    }
    const claimed = await claimQueues(db, owner, await agreedNow(db, clock), room, transport.channel);
    const atWork = new Set([...inHand.keys()].map(({ queue }) => queue.subscription_id));
    for (const { is_slow, ...queue } of claimed) {
      if (atWork.has(queue.subscription_id)) {
        // The lease expired while this process was still working on the queue; the claim has renewed it.
        continue;
      }
      const one = { queue, wasSlow: is_slow, pace: new Pace(is_slow), aheadMs: 0 };
      inHand.set(
        one,
        work(one)
          .catch((err) =>
            log.warn({ ...queue, err }, 'webhook deliveries of subscription delayed until its lease expires'),
          )
          .finally(() => inHand.delete(one)),
      );
    }
  }

  async function work(one: Work): Promise<void> {
    let more = true;
    while (more && !stopped) {
      more = await workOnce(one);
      if (one.wasSlow || one.pace.isSlow === true) {
        // After one round the queue is released: either other slow receivers wait for its place, or the receiver became
        // slow in a place for quick ones.
        break;
      }
    }
    if (!aborted) {
      await db.transaction((tx) => releaseQueue(tx, owner, one.queue, one.pace.isSlow, timeOf(one)));
    }
  }

  /** Computes the database time without a query. */
  function timeOf({ aheadMs }: Work): Date {
    return new Date(clock.now().getTime() + aheadMs);
  }

  /**
   * Sends one page of due deliveries, or fails a batch of waiting ones if the subscription is disabled or deleted.
   * Returns true if there may be more.
   */
  async function workOnce(one: Work): Promise<boolean> {
    const { queue } = one;
    const receiver = await receivers.find(queue);
    const now = await agreedNow(db, clock);
    one.aheadMs = now.getTime() - clock.now().getTime();
    if (receiver === undefined || receiver.status === 'disabled') {
      return (await failWaiting(db, queue, now, failedPerBatch)) > 0;
    }
    if (receiver.status === 'paused') {
      return false;
    }
    const limit = one.pace.isFull ? deliveriesPerPage.usual : deliveriesPerPage.careful;
    const due = await selectDue(db, queue, now, limit);
    await sendAll(one, due);
    return due.length > 0;
  }

  async function sendAll(one: Work, due: readonly DueDelivery[]): Promise<void> {
    const pending = due.values();
    const recorded: Promise<void>[] = [];
    const slowTurnEndsMs = nowMs() + slowMs;
    const sendOneAfterTheOther = async (index: number) => {
      for (const delivery of pending) {
        const receiver = await receivers.find(one.queue);
        if (stopped || receiver?.status !== 'active') {
          return;
        }
        recorded.push(...(await attempt(one, receiver, delivery)));
        if (index >= one.pace.width || (one.pace.isSlow === true && nowMs() >= slowTurnEndsMs)) {
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: one.pace.width }, (_, index) => sendOneAfterTheOther(index)));
    await Promise.all(recorded);
  }

  /** Sends the delivery, and returns a promise that resolves when its outcome is written. */
  async function attempt(one: Work, receiver: Receiver, delivery: DueDelivery): Promise<Promise<void>[]> {
    const { queue } = one;
    const { type, created_at, data } = delivery;
    if (type === null || created_at === null || data === null) {
      return [recorder.add(eventGone(queue, delivery, timeOf(one)))];
    }
    const event = { id: delivery.event_id, type, createdAt: created_at, orgId: queue.org_id, data };
    const pool = one.pace.isSlow === true ? slots.slow : slots.quick;
    const sent = await pool.use(queue.org_id, async () => {
      const startedAt = timeOf(one);
      return {
        at: startedAt,
        answer: await transport.send({
          receiver,
          event,
          delivery: { ...delivery, subscription_id: queue.subscription_id },
          at: startedAt,
        }),
      };
    });
    if (sent === undefined || aborted) {
      return [];
    }
    const { at, answer } = sent;
    await faults(transport.channel === 'mail' ? 'mail.after_send' : 'webhook.after_send', type);
    one.pace.note(answer);
    const outcome = outcomeOf(queue, delivery, at, answer, random);
    counts.count(outcome.state === 'waiting' ? 'retried' : outcome.state);
    const recorded = recorder.add(outcome);
    if (answer.status === 410) {
      await recorded;
      await disableSubscription(db, { ids, heads }, queue, { reason: 'gone', url: receiver.url }, at);
    }
    return [recorded];
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
        await renewLeases(
          db,
          owner,
          [...inHand.keys()].map(({ queue }) => queue),
        );
      }
    },
    async stop() {
      stopped = true;
      slots.quick.close();
      slots.slow.close();
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      // Attempts that are still in flight are not recorded, so they will be sent again.
      aborted = true;
      recorder.stop();
      transport.close();
      // Waits for a limited time only: an attempt may hang, but the process must end.
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      await releaseAllQueues(db, owner).catch(() => undefined);
    },
  };
}
