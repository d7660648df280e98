/**
 * Sends the due deliveries of claimed queues. Each queue has few attempts in flight, and only one while its receiver is slow or unknown.
 * Slow receivers share separate slots, and no org uses more than half of all slots.
 */
import { performance } from 'node:perf_hooks';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Faults } from '../../../platform/faults.ts';
import type { Log } from '../../../platform/log.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import type { Appending } from '../../compliance/audit/index.ts';
import { type DueDelivery, failWaiting, selectDue } from './delivery-queries.ts';
import { disableSubscription } from './disabling.ts';
import type { DeliveryCounts } from './metrics.ts';
import { eventGone, outcomeOf } from './outcomes.ts';
import { DeliveryPace, slowMs } from './pace.ts';
import { createReceivers, type Receiver } from './receivers.ts';
import { createRecorder } from './recorder.ts';
import { Slots } from './slots.ts';
import { type ClaimedQueue, releaseQueue, type SubscriptionQueue } from './subscription-queues.ts';
import type { Transport } from './transport.ts';

export interface QueueWorkerDependencies extends Appending {
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
}

const shareOfAnOrg = 0.5;
const deliveriesPerPage = { careful: 10, usual: 200 };
const failedPerBatch = 1_000;
const failingMsMax = 5 * 24 * 3_600_000;

/** A claimed queue, and the pace of its receiver. */
interface Work {
  readonly queue: SubscriptionQueue;
  readonly pace: DeliveryPace;
  /** Difference between the database clock and the clock of this process. */
  aheadMs: number;
}

/** `owner`: of the leases of the queues. */
export function createQueueWorker(deps: QueueWorkerDependencies, owner: string) {
  const { db, clock, ids, heads, log, faults, transport, counts } = deps;
  const { random = Math.random, nowMs = () => performance.now() } = deps;
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
  let stopped = false;
  let aborted = false;

  /** Works on the queue until none of its deliveries is due, or for one round if its receiver is slow, and releases it. */
  async function work({ is_slow: wasSlow, ...queue }: ClaimedQueue): Promise<void> {
    const one: Work = { queue, pace: new DeliveryPace(wasSlow), aheadMs: 0 };
    let more = true;
    while (more && !stopped) {
      more = await workOnce(one);
      if (wasSlow || one.pace.isSlow === true) {
        // After one round the queue is released: either other slow receivers wait for its place, or the receiver became
        // slow in a place for quick ones.
        break;
      }
    }
    if (!aborted) {
      await db.transaction((tx) => releaseQueue(tx, owner, queue, one.pace.isSlow, timeOf(one)));
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

  return {
    work,
    /** Starts no more attempts. */
    stop() {
      stopped = true;
      slots.quick.close();
      slots.slow.close();
    },
    /** Aborts attempts in flight. They are not recorded, so they will be sent again. */
    abort() {
      aborted = true;
      recorder.stop();
      transport.close();
    },
  };
}
