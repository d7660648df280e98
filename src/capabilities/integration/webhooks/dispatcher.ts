/**
 * Sends what is due. A process takes lanes (the deliveries of one subscription each) under a lease, works on each until
 * nothing in it is due, and lets go of it. Lanes do not wait for each other: each has few attempts under way at a time,
 * one at a time while its receiver is slow or not known yet, and slow receivers share slots of their own, and places of
 * their own among the lanes in hand, which they leave after a turn. So receivers that hang keep up themselves and each
 * other, and nobody else; and of all slots no org has more than half.
 *
 * At least once: an attempt counts when its outcome is written. A process that dies in between leaves its lanes, whose
 * leases run out, and what was not written is sent again, with the same event id.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Faults } from '../../../platform/faults.ts';
import type { Log } from '../../../platform/log.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import type { Appending } from '../../compliance/audit/index.ts';
import { onWebhooksChange } from './change-notifications.ts';
import { type DueDelivery, failWaiting, selectDue } from './delivery-queries.ts';
import { disableSubscription } from './disabling.ts';
import { claimLanes, type Lane, leaveAllLanes, leaveLane, renewLeases } from './lanes.ts';
import { messageOf } from './message.ts';
import type { DeliveryCounts } from './metrics.ts';
import { eventGone, outcomeOf } from './outcomes.ts';
import { Pace, slowMs } from './pace.ts';
import { createReceivers, type Receiver } from './receivers.ts';
import { createRecorder } from './recorder.ts';
import type { Sender } from './sender.ts';
import { Slots } from './slots.ts';

export interface DispatcherDependencies extends Appending {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly faults: Faults;
  readonly secrets: Secrets;
  readonly sender: Sender;
  readonly counts: DeliveryCounts;
  readonly userAgent: string;
  docsUrl(): string;
  random?(): number;
  /** A clock that only goes forward. */
  nowMs?(): number;
  /** How long a stop waits for what is under way. */
  readonly stopWaitMs?: number;
}

export interface Dispatcher {
  /** Takes lanes that have something to do, and begins to work on them. */
  claim(): Promise<void>;
  /** Says that this process is still at work on its lanes. */
  renew(): Promise<void>;
  /** Something may be due now. Heard once the dispatcher works, that is after the first claim. */
  poke(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const lanesMax = 1_000;
/** Two for each slot, so that none is free while the next lane is fetched. */
const slowLanesMax = 128;
const attemptsOverall = 192;
const slowAttemptsOverall = 64;
const shareOfAnOrg = 0.5;
const deliveriesPerPage = { careful: 10, usual: 200 };
const givenUpPerBatch = 1_000;
const failingMsMax = 5 * 24 * 3_600_000;
const usualStopWaitMs = 5_000;

/** A lane in hand, and what is known of its receiver. */
interface Work {
  readonly lane: Lane;
  /** It was when the lane was taken, and has one of the places for slow ones. */
  readonly wasSlow: boolean;
  readonly pace: Pace;
  /** How far the agreed time is ahead of this process's clock. */
  aheadMs: number;
}

export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  const { db, clock, ids, heads, log, faults, sender, counts } = deps;
  const { random = Math.random, stopWaitMs = usualStopWaitMs, nowMs = () => performance.now() } = deps;
  const owner = randomUUID();
  const receivers = createReceivers(deps);
  const recorder = createRecorder(db, async (failing, at) => {
    for (const { failing_since, ...lane } of failing) {
      if (at.getTime() - failing_since.getTime() >= failingMsMax) {
        await disableSubscription(db, { ids, heads }, lane, 'failing', at);
      }
    }
  });
  const slots = {
    quick: new Slots(attemptsOverall, attemptsOverall * shareOfAnOrg),
    slow: new Slots(slowAttemptsOverall, slowAttemptsOverall * shareOfAnOrg),
  };
  const inHand = new Map<Work, Promise<void>>();
  const claims = new Set<Promise<void>>();
  let works = false;
  let stopped = false;
  let aborted = false;
  let poked = false;

  onWebhooksChange(db, () => poke());

  function poke(): void {
    if (works && !stopped && !poked) {
      poked = true;
      setImmediate(() => {
        poked = false;
        claim().catch((err) => log.warn({ err }, 'webhooks wait: what is due could not be read'));
      });
    }
  }

  function claim(): Promise<void> {
    works = true;
    const claiming = takeLanes().finally(() => claims.delete(claiming));
    claims.add(claiming);
    return claiming;
  }

  async function takeLanes(): Promise<void> {
    const slowInHand = [...inHand.keys()].filter(({ wasSlow }) => wasSlow).length;
    const room = { quick: lanesMax - (inHand.size - slowInHand), slow: slowLanesMax - slowInHand };
    if (stopped || (room.quick <= 0 && room.slow <= 0)) {
      return;
    }
    const claimed = await claimLanes(db, owner, await agreedNow(db, clock), room);
    const atWork = new Set([...inHand.keys()].map(({ lane }) => lane.subscription_id));
    for (const { is_slow, ...lane } of claimed) {
      if (atWork.has(lane.subscription_id)) {
        // Its lease ran out while this process was still at work on it; the claim has renewed it.
        continue;
      }
      const one = { lane, wasSlow: is_slow, pace: new Pace(is_slow), aheadMs: 0 };
      inHand.set(
        one,
        work(one)
          .catch((err) => log.warn({ ...lane, err }, 'webhooks of a subscription wait until its lease ends'))
          .finally(() => inHand.delete(one)),
      );
    }
  }

  async function work(one: Work): Promise<void> {
    let more = true;
    while (more && !stopped) {
      more = await workOnce(one);
      if (one.wasSlow || one.pace.isSlow === true) {
        // One turn, and back into line: others that are slow wait for this place, or this one is no place for it.
        break;
      }
    }
    if (!aborted) {
      await db.transaction((tx) => leaveLane(tx, owner, one.lane, one.pace.isSlow, timeOf(one)));
    }
  }

  /** The agreed time, without asking for it each time. */
  function timeOf({ aheadMs }: Work): Date {
    return new Date(clock.now().getTime() + aheadMs);
  }

  /** True when there may be more. */
  async function workOnce(one: Work): Promise<boolean> {
    const { lane } = one;
    const receiver = await receivers.find(lane);
    const now = await agreedNow(db, clock);
    one.aheadMs = now.getTime() - clock.now().getTime();
    if (receiver === undefined || receiver.status === 'disabled') {
      return (await failWaiting(db, lane, now, givenUpPerBatch)) > 0;
    }
    if (receiver.status === 'paused') {
      return false;
    }
    const limit = one.pace.isFull ? deliveriesPerPage.usual : deliveriesPerPage.careful;
    const due = await selectDue(db, lane, now, limit);
    await sendAll(one, due);
    return due.length > 0;
  }

  async function sendAll(one: Work, due: readonly DueDelivery[]): Promise<void> {
    const queue = due.values();
    const recorded: Promise<void>[] = [];
    const slowTurnEndsMs = nowMs() + slowMs;
    const sendOneAfterTheOther = async (index: number) => {
      for (const delivery of queue) {
        const receiver = await receivers.find(one.lane);
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

  /** Sends it, and returns the promise that what became of it is written. */
  async function attempt(one: Work, receiver: Receiver, delivery: DueDelivery): Promise<Promise<void>[]> {
    const { lane } = one;
    const { type, created_at, data } = delivery;
    if (type === null || created_at === null || data === null) {
      return [recorder.add(eventGone(lane, delivery, timeOf(one)))];
    }
    const event = { id: delivery.event_id, type, createdAt: created_at, orgId: lane.org_id, data };
    const pool = one.pace.isSlow === true ? slots.slow : slots.quick;
    const sent = await pool.use(lane.org_id, async () => {
      const startedAt = timeOf(one);
      const message = messageOf(receiver, event, startedAt, {
        docsUrl: deps.docsUrl(),
        userAgent: deps.userAgent,
      });
      return { at: startedAt, answer: await sender.send(message) };
    });
    if (sent === undefined || aborted) {
      return [];
    }
    const { at, answer } = sent;
    await faults('webhook.after_send', type);
    one.pace.note(answer);
    const outcome = outcomeOf(lane, delivery, at, answer, random);
    counts.count(outcome.state === 'waiting' ? 'retried' : outcome.state);
    const recorded = recorder.add(outcome);
    if (answer.status === 410) {
      await recorded;
      await disableSubscription(db, { ids, heads }, lane, 'gone', at);
    }
    return [recorded];
  }

  async function idle(): Promise<void> {
    while (inHand.size + claims.size > 0) {
      await Promise.allSettled([...inHand.values(), ...claims]);
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
          [...inHand.keys()].map(({ lane }) => lane),
        );
      }
    },
    async stop() {
      stopped = true;
      slots.quick.close();
      slots.slow.close();
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      // Whatever is still under way is left as if it had not been sent.
      aborted = true;
      recorder.stop();
      sender.close();
      // Something may hang that nobody can end; the process is to end all the same.
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      await leaveAllLanes(db, owner).catch(() => undefined);
    },
  };
}
